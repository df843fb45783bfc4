"""Answers wait for intents, but never for long."""

import asyncio

import pytest

from tickmind.server.services.ack_batcher import AckBatcher


@pytest.mark.asyncio
async def test_however_long_a_tick_takes_answers_go_out_soon():
    patience, answered = AckBatcher(86_400.0), asyncio.Event()
    patience.add(answered.set)
    async with asyncio.timeout(30):
        await answered.wait()
