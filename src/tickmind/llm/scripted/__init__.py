"""Models that answer from a script: for machines without a model, for demonstrations, and below the doubles.

`stand_in_reply` fits any request; `tickmind.llm.testing` has `ScriptedTransport`, which answers with it or with another
script.
"""

from tickmind.llm.scripted.stand_in import stand_in_reply

__all__ = ["stand_in_reply"]
