"""`Kernel`: a function compiled to machine code for one signature, and kept on disk for the next start.

Machine code is kept in `NUMBA_CACHE_DIR` if that is set, else in the user's own cache folder; never in a folder that
others may write to, because its content is executed. The package's folder may be read-only. Where no folder can be
written, kernels are compiled again at each start, which is logged.
"""

import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tickmind.base import get_logger

P = ParamSpec("P")
R = TypeVar("R")

_log = get_logger(__name__)
_lock = threading.RLock()  # one compilation at a time; numba's settings belong to the whole process
_kernels: list["Kernel[Any, Any]"] = []  # all, in the order of their definition


class Kernel(Generic[P, R]):
    """A compiled function, ready after its first call or after `warm_up`.

    It takes arguments of exactly its signature and refuses others with a `TypeError`: compiling another version in the
    middle of a tick would hold the world for seconds.
    """

    def __init__(self, function: Callable[P, R], signature: Any) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._function = function
        self._signature = signature
        self._entry: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel, compiled first if need be."""
        entry = self._entry or self.prepare()
        return entry(*args, **kwargs)

    def prepare(self) -> Callable[P, R]:
        """Load the machine code from disk, or compile it."""
        with _lock:
            if self._entry is None:
                try:
                    with _cache_folder(), _without_scipy():
                        self._entry = self._compile(cache=True)
                except (OSError, RuntimeError) as error:  # no folder to write to, or a full disk
                    _log.warning("kernel not kept on disk; set NUMBA_CACHE_DIR", kernel=self.__name__, error=str(error))
                    with _without_scipy():
                        self._entry = self._compile(cache=False)
            return self._entry

    def _compile(self, *, cache: bool) -> Callable[P, R]:
        dispatcher = numba.njit(cache=cache)(self._function)
        dispatcher.compile(self._signature)
        dispatcher.disable_compile()
        return cast("Callable[P, R]", dispatcher)


def kernel(result: Any, *arguments: Any) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Make a function of the given types a kernel: `@kernel(types.void, reads(types.int32, 1))`."""

    def wrap(function: Callable[P, R]) -> Kernel[P, R]:
        made = Kernel(function, result(*arguments))
        _kernels.append(made)
        return made

    return wrap


def reads(dtype: Any, ndim: int) -> Any:
    """Return the type of an array that a kernel only reads; a caller's array may be frozen."""
    return types.Array(dtype, ndim, "C", readonly=True)


def writes(dtype: Any, ndim: int) -> Any:
    """Return the type of an array that a kernel writes to."""
    return types.Array(dtype, ndim, "C")


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function callable from kernels, with which it is compiled."""
    return cast("Callable[P, R]", numba.njit(function))


def warm_up() -> None:
    """Get all kernels ready, so that no tick waits for the compiler.

    The first start on a machine takes up to a minute; later ones load from disk. `is_compiled` says which it will be.
    """
    for function in _kernels:
        function.prepare()
    with suppress(OSError):  # no folder to write to, so the next start compiles again
        _marker().parent.mkdir(parents=True, exist_ok=True)
        _marker().touch()


def is_compiled() -> bool:
    """Return whether `warm_up` will find all kernels on disk, so that it takes hardly any time."""
    return _marker().is_file()


def _marker() -> Path:
    """Return the file that marks all kernels as compiled, for this Python and this numba."""
    root = _cache_root(str(numba.config.CACHE_DIR)) / _fingerprint()  # type: ignore[attr-defined]  # made when loaded
    return root / f"compiled-{sys.implementation.cache_tag}-{numba.__version__}"


@contextmanager
def _cache_folder() -> Iterator[None]:
    """Point numba to our folder while a function is compiled, and back."""
    config: Any = numba.config  # its names are made when it is loaded
    before = config.CACHE_DIR
    folder = _cache_root(before) / _fingerprint()
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()  # else numba would silently write beside the source
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


class _WithoutSciPy:
    """Keeps the parts of SciPy from being imported by one thread."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Report that they are missing; other modules are left to other finders."""
        if name.startswith("scipy.") and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("no kernel needs SciPy", name=name)


@contextmanager
def _without_scipy() -> Iterator[None]:
    """Load what numba needs for its first function without SciPy, which no kernel uses and which takes long.

    numba looks whether its linear algebra is there, and does so again when a function needs it.
    """
    finder: Any = _WithoutSciPy()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _cache_root(chosen: str) -> Path:
    if chosen:
        return Path(chosen) / "tickmind"
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "tickmind" / "kernels"


@cache
def _fingerprint() -> str:
    """Return a hash of all files of this package: numba itself checks a function's own file, not those it calls."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _count_ones(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


def _lowest_one(_typing: Any, _word: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


def _fetch_early(_typing: Any, column: Any, _place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        item = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]  # numba has no types for its own code
            context, builder, signature.args[0], array, [args[1]]
        )
        number = ir.IntType(32)
        prefetch = ir.FunctionType(ir.VoidType(), [item.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [item.type], prefetch)
        builder.call(function, [item, number(0), number(3), number(1)])  # to read, from the nearest cache, data
        return context.get_dummy_value()

    return types.void(column, types.uint64), generate


def _lowest_one_or_64(_typing: Any, _word: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.uint64(types.uint64), generate


count_ones = cast("Callable[[np.uint64], np.uint64]", intrinsic(_count_ones))  # how many bits of a word are set
lowest_one = cast("Callable[[np.uint64], np.uint64]", intrinsic(_lowest_one))  # place of the lowest; word not zero
lowest_one_or_64 = cast("Callable[[np.uint64], np.uint64]", intrinsic(_lowest_one_or_64))  # the same; 64 if none is
# begin to fetch an item of a column that will be needed soon; a place beyond the column's end does no harm
fetch_early = cast("Callable[[Any, np.uint64], None]", intrinsic(_fetch_early))
