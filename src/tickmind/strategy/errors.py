"""The errors of a deliberation. None of them leaves `step()`: they go to `on_error` as one of these types."""

from asyncio import CancelledError
from enum import StrEnum

from tickmind.base import TickmindError
from tickmind.llm import LLMConnectionError

CAUGHT = (Exception, CancelledError)
"""What user code may raise without ending the tick; Ctrl-C and the end of the process still do."""


class ErrorKind(StrEnum):
    """The closed list of `error_type`s."""

    NETWORK = "network_error"  # the client could not reach its provider
    API = "api_error"  # the provider or the client refused
    TIMEOUT = "timeout"  # no answer in time; a late one counts as none
    PARSE = "parse_error"  # the reply could not be used
    CONTEXT = "context_error"  # the context function, router, token counter, trigger or relevance rule raised
    MISSING_DEFINITION = "missing_definition"  # an undefined role, personality, context, trigger, rule or client
    MALFORMED_AGENT = "malformed_agent"  # a field of the LLMAgent is invalid; it is skipped until corrected
    NO_CLIENT = "no_client"  # no client is registered
    CALLBACK = "callback_error"  # a callback or the sink of thoughts raised
    OUTDATED = "outdated"  # the agent's relevance rule refused a late answer; no failure


class ParseError(TickmindError, ValueError):
    """A reply that can't be used; the Blackboard stays as it is."""


class OutdatedError(TickmindError):
    """A reply that could be read and that the agent's relevance rule refused; the Blackboard stays as it is."""


class RelevanceError(TickmindError):
    """A relevance rule raised."""


def kind_of(error: BaseException) -> ErrorKind:
    """Return whether a client's error is about the connection or the answer."""
    return ErrorKind.NETWORK if isinstance(error, (OSError, LLMConnectionError)) else ErrorKind.API
