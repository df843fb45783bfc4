"""`tickmind up` with the standard variables of OpenTelemetry: one trace for a thought, through all its processes."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from tests.kits.otlp_receiver import receiving, said

from tickmind.llm.testing import FakeProvider

KEY = "sk-canary-0123456789abcdef"


@pytest.mark.slow
def test_a_thought_is_one_trace_from_the_agents_process_through_the_gateway_to_the_provider(tmp_path):
    words = ["up", "bakery", "--lockstep", "--ticks", "8", "--no-viewer", "--port", "0", "--gateway-port", "0"]
    with FakeProvider.in_thread(models=("m",)) as provider, receiving() as (received, url):
        telemetry = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        model = {"LLM_BASE_URL": provider.base_url, "LLM_API_KEY": KEY, "LLM_MODEL": "m"}
        done = subprocess.run(
            [sys.executable, "-m", "tickmind.cli", *words], cwd=tmp_path, env={**os.environ, **telemetry, **model},
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        sent = {one.headers["traceparent"].split("-")[1]: one for one in provider.seen}
    spans = received.spans()
    thoughts = [span for span in spans if not span.parent_span_id]
    assert {said(span)["gen_ai.agent.id"] for span in thoughts} == {"nora", "omar", "pia"}
    by_trace = Counter(span.trace_id.hex() for span in spans)
    assert set(by_trace) == set(sent)  # each thought reached the provider, and each request belongs to a thought
    children = {span.parent_span_id: span for span in spans}
    for first in thoughts:
        chain = [first]
        while chain[-1].span_id in children:
            chain.append(children[chain[-1].span_id])
        assert [span.name.split()[0] for span in chain] == ["invoke_agent", "chat", "gateway", "chat"]
        last = sent[first.trace_id.hex()].headers["traceparent"].split("-")[2]
        assert last == chain[-1].span_id.hex()
    services = {
        service for body in received.bodies for service in (b"tickmind-agent", b"tickmind-gateway") if service in body
    }
    assert len(services) == 2
    assert not any(KEY.encode() in body for body in received.bodies)
