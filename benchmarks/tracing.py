"""What tracing costs a call while it is switched off."""

from benchmarks.harness import Result, paired, seconds
from tickmind.base.telemetry.tracing import install_tracer, installed_tracer
from tickmind.llm.messages import as_messages
from tickmind.llm.transport import ModelRequest
from tickmind.llm.transports.tracing import begin_call

BAR_US = 10.0  # of one call
ROUNDS, CALLS = 15, 20_000


def switched_off() -> list[Result]:
    """The hooks of a call without a tracer: in its deliberation, before its request, and in the gateway."""
    install_tracer(None)
    request = ModelRequest(model="m", messages=as_messages("Hi."))

    def call() -> None:
        installed_tracer()
        begin_call(request, "127.0.0.1")
        installed_tracer()

    seconds(call, CALLS)
    ours = [1e6 * seconds(call, CALLS) for _ in range(ROUNDS)]
    return [paired("tracing/off", ours, [BAR_US] * ROUNDS, unit="us", peer_name="the bar", bar=1.0)]


BENCHMARKS = [switched_off]
