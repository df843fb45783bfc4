"""`run_trial`: what a worker does with an order: live the run, measure it, and keep what is wanted of it."""

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tickmind.base import Limit, SystemClock, TickmindError, error_text
from tickmind.base.files import read_at_most, replace_file
from tickmind.lab.experiments.ledger import SpendingLedger
from tickmind.lab.experiments.trial import TrialOrder, TrialOutcome, TrialReport
from tickmind.lab.experiments.trial_measures import TrialMeasures
from tickmind.lab.experiments.trial_world import BudgetUsedUpError, LivedTrial, live_trial
from tickmind.lab.experiments.user_modules import fresh_modules
from tickmind.record import RunStore
from tickmind.world import warm_up

RUNS: Final = "runs"
WORK: Final = "work"  # runs that are not finished
LEDGER: Final = "spent.log"
_LIVED: Final = "trial.json"  # in a kept run's folder: how it went, for measures that are added later
_MAX_LIVED_BYTES: Final = Limit("size of the file of a lived trial", 10_000, "bytes")


def run_trial(order: TrialOrder) -> TrialReport:
    """Do one trial. Whatever fails is in the report, so that all other trials go on."""
    clock = SystemClock()
    warm_up()  # of a worker's first trial; not counted, because all others are foretold from it
    began_s = clock.monotonic()
    try:
        with fresh_modules(Path(order.agents_folder), Path(order.measures_file).parent):
            lived, measures = _lived_and_measured(order)
    except BudgetUsedUpError as error:
        return TrialReport(problem=str(error), is_over_budget=True)
    except TickmindError as error:
        return TrialReport(problem=str(error))
    except Exception as error:  # noqa: BLE001  programs and rules are user code
        return TrialReport(problem=error_text(error))
    outcome = TrialOutcome(
        digest=order.digest,
        condition=order.condition,
        levels=order.levels,
        seed=order.seed,
        repeat=order.repeat,
        **asdict(lived),
        values=measures.values,
        curves=measures.curves,
        errors=measures.errors,
        took_s=round(clock.monotonic() - began_s, 3),
        run_id=order.run_id if order.keeps_run else "",
    )
    return TrialReport(outcome)


def _lived_and_measured(order: TrialOrder) -> tuple[LivedTrial, TrialMeasures]:
    folder = Path(order.folder)
    kept = folder / RUNS / order.run_id
    lived = _read_lived(kept)
    if lived is not None:  # only what is measured has changed
        return lived, _measured(order, RunStore(folder / RUNS))
    work = folder / WORK
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as name:
        store = RunStore(Path(name))
        ledger = SpendingLedger(folder / LEDGER) if order.model.is_set else None
        try:
            lived = live_trial(order, store, ledger)
        finally:
            if ledger is not None:
                ledger.close()
        measures = _measured(order, store)
        if order.keeps_run:
            replace_file(store.folder(order.run_id) / _LIVED, json.dumps(asdict(lived)).encode())
            kept.parent.mkdir(exist_ok=True)
            if kept.is_dir() and not kept.is_symlink():
                shutil.rmtree(kept)  # ours, by its name, and without what makes it whole
            store.folder(order.run_id).rename(kept)
    return lived, measures


def _measured(order: TrialOrder, store: RunStore) -> TrialMeasures:
    measures = TrialMeasures(store, order.run_id, order.measures, order.measures_file)
    measures.take()
    return measures


def _read_lived(kept: Path) -> LivedTrial | None:
    """Return how a kept run went; None if there is no such run."""
    try:
        return LivedTrial(**json.loads(read_at_most(kept / _LIVED, int(_MAX_LIVED_BYTES.maximum))))
    except (OSError, ValueError, TypeError):
        return None
