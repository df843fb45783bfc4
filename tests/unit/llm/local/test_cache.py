"""The cache: where it lies, and its lock."""

from pathlib import Path

import pytest

from tickmind.base import ManualClock
from tickmind.llm.errors import LLMConfigError, LLMDeadlineError
from tickmind.llm.local.cache import cache_folder, install_lock, make_folder


def test_the_variable_names_the_cache() -> None:
    assert cache_folder({"TICKMIND_CACHE": "/somewhere", "XDG_CACHE_HOME": "/other"}) == Path("/somewhere")


def test_the_cache_lies_in_the_users_cache() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/home/anna/.c"}) == Path("/home/anna/.c/tickmind")


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_without_a_usable_xdg_folder_the_home_is_used(value: str | None) -> None:
    env = {} if value is None else {"XDG_CACHE_HOME": value}
    assert cache_folder(env) == Path.home() / ".cache" / "tickmind"


def test_a_held_lock_ends_in_a_clear_error(tmp_path: Path) -> None:
    clock, waits = ManualClock(), list[float]()
    with (
        install_lock(tmp_path / "x.lock"),
        pytest.raises(LLMDeadlineError, match="another install"),
        install_lock(tmp_path / "x.lock", timeout_s=1, on_wait=lambda: waits.append(clock.monotonic()), clock=clock),
    ):
        raise AssertionError("two hold one lock")
    assert waits


def test_a_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), install_lock(tmp_path / "x.lock"):
        raise RuntimeError
    with install_lock(tmp_path / "x.lock", timeout_s=0):
        pass


def test_a_folder_that_cannot_be_made_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LLMConfigError, match="TICKMIND_CACHE"):
        make_folder(tmp_path / "file" / "models")
