"""Empty runs: a command that was stopped before the first tick leaves none behind."""

from pathlib import Path

LOG_FOLDER = "live"  # in a run's folder


def discard_empty_run(runs: Path, run_id: str) -> bool:
    """Remove a new run without ticks; return whether it did. No process of ours may write to it any more."""
    log = runs / run_id / LOG_FOLDER
    if not log.is_dir() or any(log.iterdir()):
        return False  # without importing the record, which takes a while
    from tickmind.record import RunStore

    return RunStore(runs).discard_empty(run_id)
