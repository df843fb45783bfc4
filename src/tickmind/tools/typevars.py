"""Type parameters of agents, results and contexts; type checkers know their defaults.

`typing.TypeVar` takes a default from Python 3.13 on, and loading typing_extensions for one costs 6 MB.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=Any)
    DepsT = TypeVar("DepsT", default=Any)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")
    DepsT = TypeVar("DepsT")
