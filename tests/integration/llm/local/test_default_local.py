"""The default model on this machine: chosen by the ladder, started, pinned to slots, and gone afterwards."""

import hashlib
import sys
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local import ModelKind, WeightStore
from tickmind.llm.local.default_model import local_choice, open_default_model
from tickmind.llm.local.weights import KnownWeights, WeightPart

FAKE = Path(__file__).with_name("fake_llama_server.py")
DATA = b"GGUF toy"
PART = WeightPart("toy", "1.0", "toy/data.bin", len(DATA), hashlib.sha256(DATA).hexdigest())
TOY = KnownWeights("toy", "Toy-1B", "MIT", 128, True, "plays with bricks", len(DATA), PART.sha256, (PART,))
pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Surroundings in which a llama.cpp server is installed, and no endpoint is set."""
    monkeypatch.chdir(tmp_path)
    server = tmp_path / "llama-server"
    server.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    server.chmod(0o700)
    return {"TICKMIND_LLAMA_SERVER": str(server)}


@pytest.fixture
def store(tmp_path: Path) -> WeightStore:
    store = WeightStore(tmp_path / "cache", known=(TOY,))
    store.folder.mkdir(parents=True)
    store.path("toy").write_bytes(DATA)
    return store


async def test_installed_weights_are_served_and_characters_keep_their_slots(env, store):
    async with open_default_model(env=env, store=store, slots=2) as model:
        assert model.choice.kind is ModelKind.LOCAL
        assert "Toy-1B" in model.choice.why
        assert model.local is not None
        assert model.local.running
        assert model.client.config.is_local
        slots = [model.extra_for(name)["id_slot"] for name in ("ash", "birch", "ash")]
        assert slots == [0, 1, 0]
        model.release("ash")
        assert model.extra_for("clover")["id_slot"] == 0
    assert not model.local.running


async def test_a_file_of_weights_can_be_asked_for(env, store):
    choice = local_choice(store.path("toy"), store=store)
    async with open_default_model(choice, env=env, store=store) as model:
        assert model.client.config.model == "toy"


async def test_a_server_that_does_not_start_is_an_error_and_not_another_model(env, store, monkeypatch):
    monkeypatch.setenv("FAKE_MODE", "exit")
    with pytest.raises(LLMConnectionError, match="made of cheese"):
        async with open_default_model(env=env, store=store):
            pass
