"""Methods of services for gRPC, on plain bytes: our own codec reads and writes messages."""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import grpc
import grpc.aio

from tickmind.base import get_logger
from tickmind.server.services.gate import CallGate, CallsRefusedError
from tickmind.wire import MessageError

INTERNAL_WORDS = "internal error of the world server; see its log"
SEND_BYTE_S = 2e-9  # the loop's time per byte of a large answer
_log = get_logger(__name__)


def plain(answer: Callable[[bytes], bytes], gate: CallGate) -> Any:
    """Make a unary method, answered when the gate admits it."""

    async def call(data: bytes, context: Any) -> bytes:
        try:
            async with gate.passing(context.peer()):
                return answer(data)
        except CallsRefusedError as error:
            return await turn_away(context, error)
        except MessageError as error:
            return await refuse(context, error)
        except Exception:  # noqa: BLE001 - whatever it is, the caller sees no inside of ours, and the world goes on
            return await fail(context)

    return grpc.unary_unary_rpc_method_handler(call)


def beside(answer: Callable[[bytes], Awaitable[bytes]], gate: CallGate) -> Any:
    """Make a unary method whose answer takes time: outside the loop, or until a tick; the gate admits its sending."""

    async def call(data: bytes, context: Any) -> bytes:
        try:
            response = await answer(data)
            async with gate.passing(context.peer(), len(response) * SEND_BYTE_S):
                return response
        except CallsRefusedError as error:
            return await turn_away(context, error)
        except MessageError as error:
            return await refuse(context, error)
        except Exception:  # noqa: BLE001 - as above
            return await fail(context)

    return grpc.unary_unary_rpc_method_handler(call)


def streamed(answer: Callable[[bytes, Any], Awaitable[None]]) -> Any:
    """Make a method with one message up and many down."""

    async def call(data: bytes, context: Any) -> None:
        await _guarded(answer(data, context), context)

    return grpc.unary_stream_rpc_method_handler(call)


def two_way(answer: Callable[[Any], Awaitable[None]]) -> Any:
    """Make a method with many messages both ways; it reads and writes through the context."""

    async def call(_requests: Any, context: Any) -> None:
        await _guarded(answer(context), context)

    return grpc.stream_stream_rpc_method_handler(call)


async def _guarded(work: Awaitable[None], context: Any) -> None:
    try:
        await work
    except MessageError as error:
        await refuse(context, error)
    except grpc.aio.InternalError:
        return  # the client is gone, and can't be answered
    except grpc.aio.BaseError:
        raise  # the call was aborted on purpose
    except Exception:  # noqa: BLE001 - as above
        await fail(context)


async def turn_away(context: Any, error: CallsRefusedError) -> NoReturn:
    """Abort the call: too many wait, retry later."""
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
    raise AssertionError("abort() does not come back")


async def refuse(context: Any, error: MessageError) -> NoReturn:
    """Abort the call: the message is malformed."""
    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    raise AssertionError("abort() does not come back")


async def fail(context: Any) -> NoReturn:
    """Abort the call with an internal error, and log the exception."""
    _log.exception("a gRPC call failed")
    await context.abort(grpc.StatusCode.INTERNAL, INTERNAL_WORDS)
    raise AssertionError("abort() does not come back")
