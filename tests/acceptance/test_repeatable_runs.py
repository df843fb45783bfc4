"""The same run twice: a village in lockstep with models, however its minds are grouped and whoever is killed."""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest
from tests.acceptance.test_documents import RUN_CLI, fresh_environment
from tests.kits.choices import chosen_by_prompt
from tests.long import LONG, short_or_long
from typer.testing import CliRunner

from tickmind.cli.app import app
from tickmind.lab.minds.relived import RelivedMinds
from tickmind.llm.testing import FakeProvider, Late
from tickmind.record import RunStore
from tickmind.record.report.comparison import compare_runs

pytestmark = [pytest.mark.slow(weight=10), pytest.mark.timeout(short_or_long(290, 20_000))]
TICKS = short_or_long(25, 60)
PATIENCE_S = 240
WORLD_KILLED_AFTER = 8  # ticks on record
MAPPING = """
agents:
  villager:
    cmd: [python, -m, tickmind.characters.villager]
    per_process: {per_process}
    settings: {{food: [bread, berries, wheat]}}
assignments: [{{match: {{type: villager}}, use: villager}}]
"""


def answer(request):
    """A choice that the prompt alone decides, after a while that nothing repeats."""
    return Late(chosen_by_prompt(request.messages[-1].text), random.choice((0, 0, 0.01, 0.05)))


def below(pid: int):
    """A process and all that it started, which are few: a look at all processes could take as long as the run."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from below(int(child))


def processes_with(path: Path, pid: int):
    """The processes below one that hold a file below a folder open."""
    for each in below(pid):
        try:
            if any(str(one.readlink()).startswith(str(path)) for one in Path(f"/proc/{each}/fd").iterdir()):
                yield each
        except OSError:
            continue


class Village:
    """Runs of Willowbrook as a person starts them."""

    def __init__(self, folder, warm):
        self.folder = folder
        self.store = RunStore(folder / "runs")
        self._warm = warm
        self._count = 0

    def live(self, *options, per_process, seed=5, model="", kill=False, kill_world=False, ticks=TICKS):
        """Live for some ticks and return the run's id; `kill` kills a process of agents on the way, or the world."""
        self._count += 1
        state, log = self.folder / f"state-{self._count}", self.folder / f"{self._count}.log"
        mapping = self.folder / f"agents-{per_process}.yaml"
        mapping.write_text(MAPPING.format(per_process=per_process))
        words = ["up", "willowbrook", "--agents", str(mapping), "--lockstep", "--seed", str(seed), "--no-viewer"]
        words += ["--port", "0", "--gateway-port", "0", "--ticks", str(ticks), "--state", str(state), *options]
        env = fresh_environment() | ({"LLM_BASE_URL": model, "LLM_API_KEY": "k", "LLM_MODEL": "m"} if model else {})
        with log.open("wb") as opened:
            process = self._warm.start(["-c", RUN_CLI, *words], cwd=self.folder, env=env, stdout=opened, stderr=opened)
        if kill:
            self._kill_one(state, process, log)
        if kill_world:
            self._kill_world(process, log)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
        text = log.read_text()
        assert ("1 restart;" in text) is kill, text
        (run_id,) = re.findall(r"Run (\S+) begins", text)
        assert (f"Run {run_id} resumes after tick" in text) is kill_world, text
        return run_id

    def _kill_one(self, state, process, log):
        """Kill one process when its minds have a past to live again."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until_s, log.read_text()
            for journal in state.glob("*/state/lockstep-journal"):
                pids = list(processes_with(journal, process.pid))
                if pids and journal.stat().st_size > 6_000:
                    os.kill(pids[0], signal.SIGKILL)
                    return
            time.sleep(0.005)

    def _kill_world(self, process, log):
        """Kill the world when some of its ticks are on record."""
        known, until_s = (
            {run.run_id for run in self.store.runs() if run.state == "clean"},
            time.monotonic() + PATIENCE_S,
        )
        while True:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until_s, log.read_text()
            for run in self.store.runs() if (self.folder / "runs").is_dir() else ():
                pids = list(processes_with(self.folder / "runs" / run.run_id, process.pid))
                if run.run_id not in known and pids and run.ticks >= WORLD_KILLED_AFTER:
                    os.kill(pids[-1], signal.SIGKILL)
                    return
            time.sleep(0.005)

    def relived(self, run_id):
        """How much of a run's minds comes out as recorded when they are lived again."""
        with self.store.open(run_id) as run:
            return RelivedMinds(self.store, run).live()

    def branched(self, run_id, tick):
        """A branch of a run without a change."""
        words = ("branch", run_id, "--tick", str(tick), "--replies", "keep", "--runs", str(self.folder / "runs"))
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        return done.stdout.split()[1]

    def difference(self, first, second):
        """What two runs differ in; empty if they are the same."""
        with self.store.open(first) as one, self.store.open(second) as other:
            outcome = compare_runs(one, other)
        assert outcome.thoughts >= 12
        return outcome.state_difference or outcome.thought_difference


@pytest.fixture
def village(tmp_path, warm):
    return Village(tmp_path, warm)


@pytest.fixture
def model():
    with FakeProvider.in_thread(answer, models=("m",)) as provider:
        yield provider.base_url


def test_a_run_repeats_in_one_process_or_many_with_a_kill_and_from_its_replies(village, model):
    alone = village.live(per_process=12, model=model)
    killed = village.live("--replies", "record", "replies.jsonl", per_process=4, model=model, kill=True)
    assert village.difference(alone, killed) == ""
    played = village.live("--replies", "replay", "replies.jsonl", per_process=12)  # there is no model to ask
    assert village.difference(alone, played) == ""
    assert village.difference(alone, village.branched(killed, TICKS // 2)) == ""
    for run_id in (killed, played):
        fidelity = village.relived(run_id)
        assert fidelity.exact, fidelity.differences
        assert (fidelity.intents, fidelity.prompts >= 12) == (12 * TICKS, True)


def check_pairs(village, model, pairs):
    """Check that runs with one seed are the same, in other groups and with kills, and that those of others differ."""
    seeds = {}
    for pair in range(pairs):
        seed = pair // 2
        one = village.live(per_process=(12, 4, 1)[pair % 3], seed=seed, model=model)
        other = village.live(per_process=(4, 1, 12)[pair % 3], seed=seed, model=model, kill=pair % 2 == 1)
        assert village.difference(one, other) == "", f"pair {pair}"
        seeds[seed] = one
    runs = list(seeds.values())
    assert all(village.difference(runs[0], other) for other in runs[1:])


if LONG:

    def test_null_branches_of_a_run_whose_world_was_killed_equal_it(village, model):
        alone = village.live(per_process=12, model=model)
        killed = village.live(per_process=4, model=model, kill_world=True)
        assert village.difference(alone, killed) == ""
        for tick in random.Random(26).sample(range(TICKS), 20):
            assert village.difference(killed, village.branched(killed, tick)) == "", f"tick {tick}"

    def test_fifty_pairs_of_runs_are_the_same_and_other_seeds_differ(village, model):
        check_pairs(village, model, 50)
