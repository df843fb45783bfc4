"""The processor of this machine, as far as a llama.cpp server depends on it."""

import hashlib
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Processor:
    """The model and features of a processor. `flags` are as Linux names them, and empty on other systems."""

    system: str
    machine: str
    model: str
    flags: frozenset[str]
    cores: int

    @property
    def identity(self) -> str:
        """A text that differs where programs may run differently: another model, other instructions, other cores."""
        flags = hashlib.sha256(" ".join(sorted(self.flags)).encode()).hexdigest()[:8]
        return f"{self.model or 'unknown processor'} ({self.machine}, {self.cores} cores, flags {flags})"


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def default_threads() -> int:
    """Return all usable cores but one, which is left to the world; both of two, because the world needs little."""
    cores = usable_cores()
    return max(min(cores, 2), cores - 1)


def read_processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """Read the processor's model and flags; what the system does not say stays empty."""
    model, flags = platform.processor(), frozenset[str]()
    try:
        lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    except OSError:  # only Linux has the file
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            model = value.strip()
        elif name.strip() in ("flags", "Features"):  # the latter on ARM
            flags = frozenset(value.split())
            break  # the other cores are alike
    return Processor(sys.platform, platform.machine(), model, flags, usable_cores())
