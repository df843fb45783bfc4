"""What can go wrong in a deliberation. None of it leaves `step()`: it goes to `on_error`, under one of these words."""

from asyncio import CancelledError
from enum import StrEnum

from tickmind.base import TickmindError
from tickmind.llm import LLMConnectionError

CAUGHT = (Exception, CancelledError)
"""What user code may raise without ending the tick; Ctrl-C and the end of the process still do."""


class ErrorKind(StrEnum):
    """The closed list of `error_type`s."""

    NETWORK = "network_error"  # the client could not reach its provider
    API = "api_error"  # the provider, or the client, said no
    TIMEOUT = "timeout"  # no answer in time; a late one counts as none
    PARSE = "parse_error"  # the reply could not be used
    CONTEXT = "context_error"  # the context function, router, token counter, trigger or relevance rule raised
    MISSING_DEFINITION = "missing_definition"  # a role, personality, context, trigger, rule or client nobody defined
    MALFORMED_AGENT = "malformed_agent"  # a field of the LLMAgent is of no use; it is left alone until that is mended
    NO_CLIENT = "no_client"  # nobody registered one
    CALLBACK = "callback_error"  # a callback or the sink of thoughts raised
    OUTDATED = "outdated"  # the answer came too late to be of use, by the agent's own rule; no failure


class ParseError(TickmindError, ValueError):
    """A reply that can't be used; the Blackboard stays as it is."""


class OutdatedError(TickmindError):
    """A reply that could be read and that is of no use any more; the Blackboard stays as it is."""


class RelevanceError(TickmindError):
    """A relevance rule raised."""


def kind_of(error: BaseException) -> ErrorKind:
    """Whether a client's error is about the way or about the answer."""
    return ErrorKind.NETWORK if isinstance(error, (OSError, LLMConnectionError)) else ErrorKind.API
