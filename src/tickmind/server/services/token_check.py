"""Admits calls to a world by the role of their token."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import grpc
import grpc.aio

from tickmind.server.callers import CallerRegistry, CallerRole, set_caller

_OPEN_TO_ALL = "/grpc.health.v1.Health/"
_OF_OPERATORS = "/tickmind.v1.OperatorService/"
_OF_VIEWERS = (
    "/tickmind.v1.EntityDiscovery/",
    "/tickmind.v1.TickService/",
    "/tickmind.v1.ViewerService/",
    "/grpc.reflection.",
)


class TokenCheck(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # gRPC has no types
    """Passes calls on with their caller as the current one, or refuses them. Health checks need no token."""

    def __init__(self, callers: CallerRegistry) -> None:
        self._callers = callers

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Pass a call on, or refuse it."""
        if details.method.startswith(_OPEN_TO_ALL):
            return await continuation(details)
        caller = self._callers.find(_given(details.invocation_metadata))
        if caller is None:
            return _DENIED
        if caller.role < CallerRole.OPERATOR and details.method.startswith(_OF_OPERATORS):
            return _DENIED_ORDERS
        if caller.role is CallerRole.VIEWER and not details.method.startswith(_OF_VIEWERS):
            return _DENIED_CONTROL
        set_caller(caller)  # gRPC serves the call in this task
        return await continuation(details)


def _given(metadata: Iterable[tuple[str, Any]] | None) -> str:
    """Return the token of a call; empty if it has none."""
    for name, value in metadata or ():
        if name == "authorization" and isinstance(value, str) and value.startswith("Bearer "):
            return value.removeprefix("Bearer ")
    return ""


def _denying(status: grpc.StatusCode, why: str) -> Any:
    async def deny(_requests: Any, context: Any) -> None:
        await context.abort(status, why)

    return grpc.stream_stream_rpc_method_handler(deny)


_DENIED = _denying(grpc.StatusCode.UNAUTHENTICATED, "missing or wrong token; send `authorization: Bearer TOKEN`")
_DENIED_ORDERS = _denying(
    grpc.StatusCode.PERMISSION_DENIED, "only with a token of the operator, from the world's --operator-token-file"
)
_DENIED_CONTROL = _denying(
    grpc.StatusCode.PERMISSION_DENIED,
    "this token is a viewer's, which may look and not control; use one from the world's --token-file",
)
