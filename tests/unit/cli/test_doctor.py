import socket
from collections import namedtuple
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickmind.cli import doctor
from tickmind.cli.app import app
from tickmind.llm.local import RuntimeLadder, Trial, TrialVerdict, WeightStore

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def quick(monkeypatch):
    """The warden forks, which the runner's own tests try."""
    monkeypatch.setattr(doctor, "agents", lambda: doctor.Finding("agents", doctor.Severity.GOOD, "kept by a test"))


def test_a_healthy_machine_can_run_the_demo(quick, tmp_path):
    result = CliRunner().invoke(app, ["doctor", "--runs", str(tmp_path)])
    assert result.exit_code == 0, result.output
    looked_at = {line.split("  ")[1].split(":")[0] for line in result.output.splitlines()[:-1]}
    assert {"python", "world", "record", "page", "model", "ports", "browser", "disk", "agents"} <= looked_at
    assert "can run here" in result.output


def test_lines_are_broken_between_words_in_a_terminal_and_whole_in_a_pipe(monkeypatch):
    line = f"good  agents: {'kept by the kernel ' * 9}http://127.0.0.1:8700/a-long-address-of-one-word/{'x' * 60}"
    assert doctor._laid_out(line) == line
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    first, *more = doctor._laid_out(line).splitlines()
    assert len(first) <= 80
    assert more
    assert all(one.startswith("      ") for one in more)
    assert " ".join([first, *(one.strip() for one in more)]) == line


def test_parts_that_are_not_installed_are_noted_with_how_to_get_them_and_nothing_has_to_be_mended(
    quick, monkeypatch, tmp_path
):
    """A machine that is to run a gateway alone has nothing to mend for want of a world."""
    for there in (("msgspec", "httptools", "uvloop"), ("grpc", "numpy"), ()):
        monkeypatch.setattr(doctor, "_is_installed", there.__contains__)
        result = CliRunner().invoke(app, ["doctor", "--runs", str(tmp_path / "missing")])
        assert result.exit_code == 0, result.output
        assert "mend" not in result.output
        assert "note  record: `pip install 'tickmind[record]'`" in result.output
        assert "`tickmind demo` needs more: `pip install 'tickmind[village]'`" in result.output
        assert ("agents: " in result.output) == ("grpc" in there)
        assert "disk: " not in result.output


def test_a_taken_port_is_named():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        finding = doctor.ports({"page": port})
        assert finding.verdict is doctor.Severity.NOTE
        assert f"{port} (page)" in finding.text
        assert "--any-ports" in finding.text
    assert doctor.ports({"page": port}).verdict is doctor.Severity.GOOD


def test_a_full_disk_has_to_be_mended(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.disk_usage", lambda _place: Usage(10**9, 10**9, 10**6))
    finding = doctor.disk(tmp_path / "runs")
    assert finding.verdict is doctor.Severity.MEND
    assert "make room" in finding.text


def test_a_folder_that_cannot_be_written_has_to_be_mended(monkeypatch, tmp_path):
    def refuse(**_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    finding = doctor.disk(tmp_path / "runs")
    assert finding.verdict is doctor.Severity.MEND
    assert "Permission denied" in finding.text


def test_a_machine_without_a_browser_is_told_to_use_another(monkeypatch):
    import webbrowser

    def none_here():
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none_here)
    assert "open the printed address" in doctor.browser().text


def test_the_model_that_would_answer_is_named_and_its_key_is_not(monkeypatch):
    monkeypatch.setenv("LLM_BASE_URL", "https://models.example/v1")
    monkeypatch.setenv("LLM_API_KEY", "canary-of-the-doctor")
    finding = doctor.model()
    assert finding.verdict is doctor.Severity.GOOD
    assert "models.example" in finding.text
    assert "canary" not in finding.text


def test_the_speed_of_the_local_model_is_shown(monkeypatch, tmp_path):
    store = WeightStore(tmp_path)
    store.folder.mkdir(parents=True)
    name = store.known[0].name
    with store.path(name).open("wb") as file:
        file.truncate(store.known[0].size_bytes)  # a hole as large as the weights
    server = tmp_path / "llama-server"
    server.touch(mode=0o700)
    monkeypatch.chdir(tmp_path)  # no .env of the developer's
    for variable in ("LLM_BASE_URL", "LLM_API_KEY", "LLM_GATEWAY_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TICKMIND_CACHE", str(tmp_path))
    monkeypatch.setenv("TICKMIND_LLAMA_SERVER", str(server))
    (finding,) = doctor.runtimes()
    assert (finding.what, finding.verdict) == ("runtime", doctor.Severity.NOTE)
    assert "tickmind model measure" in finding.text

    ladder = RuntimeLadder(tmp_path, trier=lambda *_given, **_options: Trial(TrialVerdict.WORKS, "", 26, 9.12))
    ladder.measure(store.path(name))
    (finding,) = doctor.runtimes()
    assert finding.verdict is doctor.Severity.GOOD
    assert f"{server}: 26 read, 9.1 written tokens/s" in finding.text


def test_an_endpoint_has_no_runtime(monkeypatch):
    monkeypatch.setenv("LLM_BASE_URL", "https://models.example/v1")
    assert list(doctor.runtimes()) == []


def test_the_folder_of_runs_need_not_exist_yet(tmp_path):
    assert doctor.disk(tmp_path / "not" / "yet").verdict is not doctor.Severity.MEND
    assert not Path(tmp_path / "not").exists()
