import asyncio

import pytest

from tickmind.base import ManualClock
from tickmind.llm.errors import (
    LLMConfigError,
    LLMCooldownError,
    LLMDroppedError,
    LLMRateLimitError,
    LLMResponseError,
    LLMUnavailableError,
)
from tickmind.llm.gateway_client import gate as gates
from tickmind.llm.gateway_client import load_gateway_config
from tickmind.llm.gateway_client.gate import Gate, Gates
from tickmind.llm.served import SessionCooldown


class LoopTime(ManualClock):
    """The time of the running event loop, so that `loop_clock` moves the gate and its timers together."""

    def monotonic(self):
        return asyncio.get_running_loop().time()


def at_pace(wait_s, rpm=None):
    return SessionCooldown(wait_s, effective_rpm=rpm)


def test_an_open_gate_holds_nobody_up():
    gate = Gate("m", ManualClock())
    for _ in range(100):
        gate.take_nowait()
    gate.note(at_pace(0.0, 6.0))
    for _ in range(100):
        gate.take_nowait()


def test_in_a_cooldown_one_goes_through_at_a_time_at_the_pace_that_was_named():
    clock = ManualClock()
    gate = Gate("m", clock)
    gate.note(at_pace(4.0, 15.0))  # one each 4 s
    with pytest.raises(LLMCooldownError) as caught:
        gate.take_nowait()
    assert caught.value.retry_after_s == 4.0
    clock.advance(4.0)
    gate.take_nowait()
    with pytest.raises(LLMCooldownError):
        gate.take_nowait()
    clock.advance(4.02)
    gate.take_nowait()


def test_a_later_word_lengthens_a_wait_and_does_not_shorten_it():
    clock = ManualClock()
    gate = Gate("m", clock)
    gate.note_refusal(LLMRateLimitError("wait", retry_after_s=30.0))
    gate.note(at_pace(2.0))
    gate.note(at_pace(0.0))
    assert gate.ready_in_s() == 30.0
    gate.note(at_pace(50.0))
    assert gate.ready_in_s() == 50.0


def test_a_refusal_that_does_not_say_how_long_closes_it_for_a_second():
    gate = Gate("m", ManualClock())
    gate.note_refusal(LLMCooldownError("full", code="QUEUE_FULL"))
    assert gate.ready_in_s() == 1.0


def test_a_refusal_of_one_agent_is_nobody_elses():
    gate = Gate("m", ManualClock())
    gate.note_refusal(LLMCooldownError("later", retry_after_s=60.0, code="DEFERRED"))
    gate.take_nowait()


@pytest.mark.asyncio
async def test_those_who_wait_go_in_the_order_in_which_they_came():
    gate, order = Gate("m", LoopTime()), []
    gate.note(at_pace(0.05, 6000.0))

    async def go(number):
        await gate.take(30.0)
        order.append(number)

    await asyncio.gather(*(go(number) for number in range(8)))
    assert order == list(range(8))
    assert gate.waiting == 0


@pytest.mark.asyncio
async def test_nobody_overtakes_those_who_wait(loop_clock):
    gate = Gate("m", LoopTime())
    with loop_clock.stopped():
        gate.note(at_pace(60.0))
        waits = asyncio.create_task(gate.take(300.0))
        await asyncio.sleep(0)
        loop_clock.skip(60.0)  # the gate is open, and the one who waits has not been let through yet
        assert gate.ready_in_s() == 0.0
        with pytest.raises(LLMCooldownError):
            gate.take_nowait()
        await waits


@pytest.mark.asyncio
async def test_a_wait_is_lengthened_under_those_who_wait_and_ends_with_their_patience(loop_clock):
    gate = Gate("m", LoopTime())
    with loop_clock.stopped():
        gate.note(at_pace(1.0))
        waits = asyncio.create_task(gate.take(40.0))
        await asyncio.sleep(0)
        gate.note_refusal(LLMRateLimitError("wait", retry_after_s=100.0))
        loop_clock.skip(40.0)
        with pytest.raises(LLMCooldownError) as caught:
            await waits
        assert caught.value.retry_after_s == pytest.approx(60.0)


@pytest.mark.asyncio
async def test_an_outage_fails_those_who_wait_and_those_who_come_until_it_is_over(loop_clock):
    gate = Gate("m", LoopTime())
    with loop_clock.stopped():
        gate.note(at_pace(10.0))
        waits = asyncio.create_task(gate.take(600.0))
        await asyncio.sleep(0)
        gate.note_refusal(LLMUnavailableError("down", retry_after_s=300.0, status=503))
        with pytest.raises(LLMUnavailableError, match="tries none for another 300 s"):
            await waits
        loop_clock.skip(100.0)
        with pytest.raises(LLMUnavailableError) as caught:
            await gate.take(600.0)
        assert caught.value.retry_after_s == pytest.approx(200.0)
        with pytest.raises(LLMUnavailableError):
            gate.take_nowait()
        loop_clock.skip(200.0)
        await gate.take(600.0)


@pytest.mark.asyncio
async def test_a_thousand_who_wait_are_not_looked_at_until_it_is_time(monkeypatch, loop_clock):
    looks: list[Gate] = []
    monkeypatch.setattr(Gate, "_let_through", looks.append)
    gate = Gate("m", LoopTime())
    with loop_clock.stopped():
        gate.note(at_pace(60.0))
        calls = [asyncio.create_task(gate.take(3600.0)) for _ in range(1000)]
        await asyncio.sleep(0)
        for after_s, times in ((59.0, 0), (1.5, 1)):
            loop_clock.skip(after_s)
            for _ in range(3):
                await asyncio.sleep(0)
            assert (gate.waiting, len(looks)) == (1000, times)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert gate.waiting == 0


@pytest.mark.asyncio
async def test_more_than_the_limit_do_not_wait(monkeypatch):
    monkeypatch.setattr(gates, "MAX_WAITERS", gates.MAX_WAITERS.at(2))
    gate = Gate("m", LoopTime())
    gate.note(at_pace(60.0))
    calls = [asyncio.create_task(gate.take(3600.0)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(LLMCooldownError):
        await gate.take(3600.0)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def test_models_have_gates_of_their_own_and_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(gates, "MAX_GATES", gates.MAX_GATES.at(2))
    kept = Gates(ManualClock())
    first = kept.of("a")
    assert kept.of("a") is first
    assert kept.of("b") is not first
    kept.of("c")
    assert kept.known("a") is None
    assert kept.known("c") is not None


def test_the_address_comes_from_the_environment(tmp_path):
    env = {"LLM_GATEWAY_URL": "http://gateway.example:9000/", "LLM_GATEWAY_KEY": "caller", "LLM_MODEL": "qwen"}
    config = load_gateway_config(env=env)
    assert (config.base_url, config.api_key.reveal(), config.model) == ("http://gateway.example:9000", "caller", "qwen")
    (tmp_path / ".env").write_text("LLM_GATEWAY_URL=http://127.0.0.1:1\n")
    assert load_gateway_config(env={}, dotenv_path=tmp_path / ".env").base_url == "http://127.0.0.1:1"
    plain = load_gateway_config(env={"LLM_API_KEY": "sk-provider"}, dotenv_path=tmp_path / "none")
    assert plain.base_url == "http://127.0.0.1:8766"
    assert not plain.api_key  # a provider's key is no business of the way there
    with pytest.raises(LLMConfigError):
        load_gateway_config(url="ftp://x", env={})


def turn(wait_s, need_s=5.0):
    return SessionCooldown(wait_s, need_s=need_s)


def test_each_turn_lets_one_request_through():
    clock = ManualClock()
    gate = Gate("m", clock)
    gate.note(turn(10.0))
    gate.note(turn(4.0))
    assert gate.ready_in_s() == 4.0
    clock.advance(4.0)
    gate.take_nowait()
    assert gate.ready_in_s() == 6.0
    clock.advance(6.0)
    gate.take_nowait()
    assert gate.ready_in_s() == 0.0


def test_a_turn_that_nobody_used_is_over_when_the_next_one_comes():
    clock = ManualClock()
    gate = Gate("m", clock)
    for wait_s in (4.0, 8.0, 20.0):
        gate.note(turn(wait_s))
    clock.advance(9.0)
    gate.take_nowait()
    assert gate.ready_in_s() == 11.0


def test_a_drop_and_a_cut_off_tell_a_turn_too():
    clock = ManualClock()
    gate = Gate("m", clock)
    gate.note_refusal(LLMDroppedError("expired", status=410, code="EXPIRED", retry_after_s=7.0, cooldown=turn(7.0)))
    assert gate.ready_in_s() == 7.0
    clock.advance(7.0)
    gate.take_nowait()
    gate.note_refusal(LLMResponseError("cut off", status=504, retry_after_s=9.0, cooldown=turn(9.0)))
    assert gate.ready_in_s() == 9.0


def test_an_error_of_a_provider_says_nothing_of_turns():
    gate = Gate("m", ManualClock())
    gate.note_refusal(LLMResponseError("teapot", status=418, retry_after_s=9.0))
    assert gate.ready_in_s() == 0.0


@pytest.mark.asyncio
async def test_a_request_with_too_little_time_left_for_an_answer_after_its_turn_is_refused_at_once(loop_clock):
    gate = Gate("m", LoopTime())
    with loop_clock.stopped():
        gate.note(turn(10.0, need_s=20.0))
        with pytest.raises(LLMCooldownError):
            await gate.take(patience_s=25.0)
        waiting = asyncio.create_task(gate.take(patience_s=31.0))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
