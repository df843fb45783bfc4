"""Structured output, the pure half: from any text that a model wrote to the object that it meant, typed."""

from tickmind.llm.structured.read import ReadReply, parse, read_reply
from tickmind.llm.structured.schema import ReplySchema

__all__ = ["ReadReply", "ReplySchema", "parse", "read_reply"]
