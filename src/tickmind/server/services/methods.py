"""Methods of services as gRPC takes them, on plain bytes: messages are read and written by our own codec."""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import grpc
import grpc.aio

from tickmind.base import get_logger
from tickmind.server.services.gate import CallGate, CallsRefusedError
from tickmind.wire import MessageError

SEND_BYTE_S = 2e-9  # what the loop takes for each byte of a large answer
_log = get_logger(__name__)


def plain(answer: Callable[[bytes], bytes], gate: CallGate) -> Any:
    """A method with one message each way, answered when the gate lets it through."""

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
    """A method with one message each way whose answer is made beside the loop, and sent when the gate lets it."""

    async def call(data: bytes, context: Any) -> bytes:
        try:
            found = await answer(data)
            async with gate.passing(context.peer(), len(found) * SEND_BYTE_S):
                return found
        except CallsRefusedError as error:
            return await turn_away(context, error)
        except MessageError as error:
            return await refuse(context, error)
        except Exception:  # noqa: BLE001 - as above
            return await fail(context)

    return grpc.unary_unary_rpc_method_handler(call)


def streamed(answer: Callable[[bytes, Any], Awaitable[None]]) -> Any:
    """A method with one message up and many down."""

    async def call(data: bytes, context: Any) -> None:
        await _guarded(answer(data, context), context)

    return grpc.unary_stream_rpc_method_handler(call)


def two_way(answer: Callable[[Any], Awaitable[None]]) -> Any:
    """A method with many messages both ways; it reads and writes through the context."""

    async def call(_requests: Any, context: Any) -> None:
        await _guarded(answer(context), context)

    return grpc.stream_stream_rpc_method_handler(call)


async def _guarded(work: Awaitable[None], context: Any) -> None:
    try:
        await work
    except MessageError as error:
        await refuse(context, error)
    except grpc.aio.InternalError:
        return  # the other side is gone, and there is nobody to tell
    except grpc.aio.BaseError:
        raise  # the call was ended on purpose
    except Exception:  # noqa: BLE001 - as above
        await fail(context)


async def turn_away(context: Any, error: CallsRefusedError) -> NoReturn:
    """Tell the caller to come again later."""
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
    raise AssertionError("abort() does not come back")


async def refuse(context: Any, error: MessageError) -> NoReturn:
    """Tell the caller what is wrong with its message."""
    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    raise AssertionError("abort() does not come back")


async def fail(context: Any) -> NoReturn:
    """Tell the caller that we failed, and the log why."""
    _log.exception("a call failed")
    await context.abort(grpc.StatusCode.INTERNAL, "the world could not answer; its log says why")
    raise AssertionError("abort() does not come back")
