"""The warden with real processes, in every isolation that this machine allows."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.long import short_or_long

from tickmind.runner import Bounds, Warden, WardenError
from tickmind.runner.warden.isolation import TASKS_PER_PROCESS, can_cap_tasks
from tickmind.runner.warden.tree import memory_used

pytestmark = pytest.mark.timeout(120)
FORKS_TWICE = "setsid sh -c 'sleep 600 & sleep 600' & sh -c 'sleep 600' & "
KILLED_RUNNERS = short_or_long(30, 200)


class Started:
    """A process, what it wrote, and how it ended."""

    def __init__(self, warden, command, descriptors=()):
        self._read, write = os.pipe()
        self.child = warden.launch(command, [write, *descriptors], lambda _: None)
        os.close(write)

    async def ending(self):
        async with asyncio.timeout(60):
            await self.child.ended.wait()
        return self.child.ending

    async def output(self):
        await self.ending()
        with os.fdopen(self._read, "rb") as file:
            return file.read().decode()

    async def line(self):
        """The first thing that it writes."""
        return await asyncio.to_thread(os.read, self._read, 1000)

    def forget(self):
        os.close(self._read)


@pytest.fixture
def start(warden, tools, mark):
    started = []

    def launch(*argv, descriptors=(), **given):
        started.append(Started(warden, tools.command(*argv, mark=mark, **given), descriptors))
        return started[-1]

    return launch


@pytest.mark.asyncio
async def test_how_a_process_ended_is_told(start):
    assert (await start("sh", "-c", "exit 7").ending()).code == 7
    assert (await start("sh", "-c", "kill -USR1 $$").ending()).signal == signal.SIGUSR1
    assert "No such file" in str(await start("no-such-program").ending())


@pytest.mark.asyncio
async def test_nothing_that_was_forked_outlives_its_agent(start, tools, mark):
    agent = start("sh", "-c", FORKS_TWICE + "sleep 0.3; echo out; exit 3")
    ending = await agent.ending()
    assert ending.code == 3
    assert ending.left >= 1, "what it left is counted before it is ended"
    assert tools.marked(mark) == []
    assert await agent.output() == "out\n"


@pytest.mark.asyncio
async def test_a_killed_agent_takes_its_children_along(start, tools, mark):
    agent = start("sh", "-c", FORKS_TWICE + "echo ready; wait")
    assert await agent.line() == b"ready\n"
    agent.child.kill()
    await agent.ending()
    assert tools.marked(mark) == []
    agent.forget()


@pytest.mark.asyncio
async def test_stopping_gives_time_to_end_in_good_order(start):
    agent = start("sh", "-c", "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    assert await agent.line() == b"ready\n"
    agent.child.stop(30.0)
    assert (await agent.ending()).code == 5
    assert await agent.output() == "bye\n"


@pytest.mark.asyncio
async def test_who_does_not_stop_in_time_is_killed(start):
    agent = start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    assert await agent.line() == b"ready\n"
    agent.child.stop(0.2)
    assert "did not stop in time" in str(await agent.ending())
    agent.forget()


@pytest.mark.asyncio
async def test_a_tree_that_takes_too_much_memory_is_ended(start, tools):
    eat = "import os, time; os.fork(); kept = bytearray(60 << 20); time.sleep(600)"
    ending = await start(*tools.python, eat, bounds=Bounds(memory_mb=90)).ending()
    assert "MB of memory, more than its limit of 90" in str(ending)


@pytest.mark.asyncio
async def test_memory_that_could_be_shared_counts_too(start, tools):
    eat = "import mmap, time; kept = mmap.mmap(-1, 99 << 20); kept[::4096] = bytes(99 << 8); time.sleep(600)"
    ending = await start(*tools.python, eat, bounds=Bounds(memory_mb=90)).ending()
    assert "MB of memory, more than its limit of 90" in str(ending)


def test_memory_that_a_tree_shares_counts_once_and_mapped_files_do_not(tools, tmp_path):
    weights = tmp_path / "weights"
    weights.write_bytes(bytes(60 << 20))
    share = (
        "import mmap, os, sys\n"
        "shared = mmap.mmap(-1, 50 << 20)\n"
        "weights = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)\n"
        "os.fork(), os.fork()\n"
        "assert sum(shared[::4096]) + sum(weights[::4096]) == 0\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "os.read(0, 1)\n"
    )
    with subprocess.Popen([*tools.python, share, weights], stdin=PIPE, stdout=PIPE) as tree:
        assert tree.stdin is not None
        assert tree.stdout is not None
        pids = [int(tree.stdout.readline()) for _ in range(4)]
        resident = memory_used(pids, most_bytes=1 << 40)
        own = memory_used(pids, most_bytes=1 << 20)
        tree.stdin.close()
    assert resident > 4 * 110 << 20
    assert 50 << 20 < own < 90 << 20


@pytest.mark.asyncio
async def test_a_single_process_can_not_take_much_more_memory_than_its_limit_at_once(start, tools):
    agent = start(*tools.python, "kept = bytearray(400 << 20)", bounds=Bounds(memory_mb=50))
    assert "MemoryError" in await agent.output()


def kernel_limits():
    return [int(Path("/proc/sys/kernel/pid_max").read_text()), resource.getrlimit(resource.RLIMIT_NPROC)[0]]


@pytest.mark.asyncio
async def test_the_kernel_holds_the_tasks_of_a_tree_where_the_doctor_says_so(start, tools, warden):
    isolation = await warden.isolation()
    look = (
        "import resource\nprint(open('/proc/sys/kernel/pid_max').read().strip(), "
        "resource.getrlimit(resource.RLIMIT_NPROC)[0])"
    )
    outside = kernel_limits()
    free = [int(word) for word in (await start(*tools.python, look).output()).split()]
    bound = [int(word) for word in (await start(*tools.python, look, bounds=Bounds(processes=20)).output()).split()]
    assert free[1] == outside[1]
    held = bound[0] == 20 * TASKS_PER_PROCESS or bound[1] not in (free[1], resource.RLIM_INFINITY)
    assert held is can_cap_tasks(isolation), (isolation, free, bound)
    assert kernel_limits() == outside  # nobody else is held


@pytest.mark.asyncio
async def test_a_tree_with_too_many_processes_is_ended(start, tools):
    fork = "import os, time\nfor _ in range(40):\n  if os.fork() == 0: time.sleep(600)\ntime.sleep(600)"
    ending = await start(*tools.python, fork, bounds=Bounds(processes=10)).ending()
    assert "processes, more than its limit of 10" in str(ending)


@pytest.mark.asyncio
async def test_a_fork_bomb_is_ended_by_its_limit_and_nothing_of_it_is_left(start, tools, mark):
    bomb = "import os, time\nfor _ in range(6): os.fork()\ntime.sleep(600)"  # a bounded one, of 64 processes
    agent = start(*tools.python, bomb, bounds=Bounds(processes=10))
    assert "processes, more than its limit of 10" in str(await agent.ending())
    assert tools.marked(mark) == []
    assert await agent.output() == ""  # read to its end: nobody holds it any more


@pytest.mark.asyncio
async def test_a_process_that_spins_is_ended_by_its_limit(start):
    ending = await start("sh", "-c", "while :; do :; done", bounds=Bounds(cpu_s=1)).ending()
    assert ending.signal in (signal.SIGXCPU, signal.SIGKILL)


@pytest.mark.asyncio
async def test_limits_of_files_and_politeness_hold(start, tools):
    show = "import os, resource; print(resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(0))"
    agent = start(*tools.python, show, bounds=Bounds(files=99, nice=7))
    assert await agent.output() == f"(99, 99) {max(7, os.nice(0))}\n"


POLITE_RUNNER = """
import asyncio, os, sys
from pathlib import Path
from tickmind.runner import Bounds, Command, Isolation, Warden

async def run():
    async with Warden(Isolation(sys.argv[1])) as warden:
        show = ("sh", "-c", "cut -d' ' -f19 /proc/self/stat")
        child = warden.launch(Command(show, dict(os.environ), Path("/"), Bounds(nice=3)), [1], lambda _: None)
        await child.ended.wait()
        sys.exit(str(child.ending) if child.ending.code else 0)

os.nice(11 - os.nice(0))
asyncio.run(run())
"""


def test_an_agent_of_a_runner_that_yields_more_yields_as_much(isolation):
    done = subprocess.run(
        [sys.executable, "-c", POLITE_RUNNER, str(isolation)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "11\n"), done.stderr


@pytest.mark.asyncio
@pytest.mark.parametrize("kit", [(), ("json",)], ids=["fresh", "warm"])
async def test_an_agent_gets_its_descriptors_and_no_others(start, tools, tmp_path, kit):
    read, write = os.pipe()
    other = os.memfd_create("other")
    os.write(other, b"secret")
    os.lseek(other, 0, os.SEEK_SET)
    show = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1]); os.write(3, os.read(4, 99))"
    (tmp_path / "__main__.py").write_text(show)
    program = [sys.executable, str(tmp_path)] if kit else [*tools.python, show]
    agent = start(*program, descriptors=[write, other], kit=kit)
    assert await agent.output() == "[0, 1, 2, 3, 4]\n"
    assert os.read(read, 99) == b"secret"
    for each in (read, write, other):
        os.close(each)


@pytest.mark.asyncio
async def test_an_agent_gets_exactly_the_environment_that_it_was_given(start, tools, mark):
    agent = start(*tools.python, "import os; print(sorted(os.environ))")
    assert set(eval(await agent.output())) - {"LC_CTYPE"} == {"PATH", "TICKMIND_TEST_MARK"}


@pytest.mark.asyncio
async def test_when_the_warden_is_killed_all_are_gone_and_the_next_one_starts_anew(start, warden, tools, mark):
    agent = start("sh", "-c", FORKS_TWICE + "echo ready; wait")
    assert await agent.line() == b"ready\n"
    os.kill(warden.pid, signal.SIGKILL)
    assert "the warden was killed" in str(await agent.ending())
    tools.seconds_until_gone(mark)
    assert (await start("sh", "-c", "exit 4").ending()).code == 4
    agent.forget()


@pytest.mark.asyncio
async def test_a_killed_keeper_leaves_nothing_behind(start, tools, mark):
    agent = start("sh", "-c", FORKS_TWICE + "echo ready; wait")
    assert await agent.line() == b"ready\n"
    await tools.until(lambda: agent.child.keeper_pid)
    os.kill(agent.child.keeper_pid, signal.SIGKILL)
    assert "killed together with its keeper" in str(await agent.ending())
    tools.seconds_until_gone(mark)
    agent.forget()


@pytest.mark.asyncio
async def test_closing_ends_everything(isolation, tools, mark):
    async with Warden(isolation) as warden:
        agent = Started(warden, tools.command("sh", "-c", FORKS_TWICE + "echo ready; wait", mark=mark))
        assert await agent.line() == b"ready\n"
    assert tools.marked(mark) == []
    agent.forget()


@pytest.mark.asyncio
async def test_an_order_that_is_too_large_is_refused(warden, tools):
    with pytest.raises(WardenError, match="put large values into its settings"):
        Started(warden, tools.command("true", "x" * 200_000))


@pytest.mark.asyncio
async def test_many_at_once_are_all_told(start):
    agents = [start("sh", "-c", f"exit {number}") for number in range(40)]
    assert [(await agent.ending()).code for agent in agents] == list(range(40))
    for agent in agents:
        agent.forget()


# Agents that are forks of a process which has imported their kit

LOOK = """
import atexit, json, os, signal, sys, threading
kept = threading.Thread(target=lambda: print("a thread was waited for"))
atexit.register(print, "and then the end")
shown = {
    "argv": sys.argv[1:],
    "env": {name: value for name, value in os.environ.items() if name != "LC_CTYPE"},
    "putenv": os.popen("echo $TICKMIND_TEST_MARK").read(),
    "fds": sorted(map(int, os.listdir("/proc/self/fd")))[:3],
    "cwd": os.getcwd(),
    "path": [each for each in sys.path if not each.endswith("/src")],  # a relative one depends on where one looks from
    "handlers": [str(signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
    "nice": os.nice(0),
    "name": __name__,
    "stdin": sys.stdin.read(),
    "threads": threading.active_count(),
}
print(json.dumps(shown))
kept.start()
sys.exit(7)
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "look.py"
    file.write_text(LOOK)
    return file


def maps_of_parent(pid):
    parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    return Path(f"/proc/{parent}/maps").read_text()


@pytest.mark.asyncio
async def test_a_kit_can_be_imported_before_anybody_wants_it(warden, start, tools):
    warden.warm(("decimal",))
    other = start("sh", "-c", "echo here; sleep 600")
    await other.line()
    await tools.until(lambda: other.child.keeper_pid)
    assert "_decimal" in maps_of_parent(other.child.keeper_pid)
    other.child.kill()
    await other.ending()
    other.forget()


@pytest.mark.asyncio
async def test_a_warm_agent_finds_what_a_fresh_interpreter_would(start, program):
    found = []
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}  # as the warden has it
    for kit in ((), ("json", "random")):
        agent = start(sys.executable, str(program), "one", "two", bounds=Bounds(nice=3), kit=kit, env=env)
        assert (await agent.ending()).code == 7
        found.append(await agent.output())
    assert found[0] == found[1]
    assert found[1].endswith("a thread was waited for\nand then the end\n")


ENDS = {
    "import sys; sys.exit('words')": (1, "words\n"),
    "raise ValueError('oh')": (1, "ValueError: oh\n"),
    "import sys; sys.exit()": (0, ""),
    "import sys; sys.exit(300)": (300 % 256, ""),
    "print('half', end='')": (0, "half"),
}


@pytest.mark.asyncio
async def test_a_warm_agent_ends_as_a_program_does(start, tmp_path):
    for place, (text, (code, said)) in enumerate(ENDS.items()):
        file = tmp_path / f"ends{place}.py"
        file.write_text(text)
        agent = start(sys.executable, str(file), kit=("json",))
        assert (await agent.ending()).code == code, text
        assert (await agent.output()).endswith(said)
    by_name = start(sys.executable, "-m", "json.tool", "/dev/null", kit=("json",))
    assert (await by_name.ending()).code == 1
    by_name.forget()


@pytest.mark.asyncio
async def test_warm_agents_have_chance_of_their_own(start, tmp_path):
    file = tmp_path / "dice.py"
    file.write_text("import random; print(random.random())")
    agents = [start(sys.executable, str(file), kit=("random",)) for _ in range(3)]
    assert len({await agent.output() for agent in agents}) == 3


@pytest.mark.asyncio
async def test_a_kit_that_is_not_there_costs_time_only(isolation, tools, mark, program, capfd):
    async with Warden(isolation) as warden:
        for kit in (("no_such_module",), ("json",)):
            command = tools.command(sys.executable, str(program), mark=mark, kit=kit)
            assert (await Started(warden, command).ending()).code == 7
    assert "no_such_module" in capfd.readouterr().err


@pytest.mark.asyncio
async def test_no_key_of_the_runner_is_in_a_warm_agent(isolation, tools, mark, tmp_path):
    file = tmp_path / "look.py"
    file.write_text("import sys; sys.stdout.buffer.write(open('/proc/self/environ', 'rb').read())")
    environment = {**os.environ, "LLM_API_KEY": "sk-do-not-pass-on"}
    async with Warden(isolation, environment) as warden:
        agent = Started(warden, tools.command(sys.executable, str(file), mark=mark, kit=("json",)))
        found = await agent.output()
    assert "PATH=" in found
    assert "sk-do-not-pass-on" not in found


# Runners that are killed. They are forked from one process that has imported everything, because that is quick, and
# some get ready while another one is killed.

AHEAD = 3
RUNNERS = """
import asyncio, os, signal, sys
from pathlib import Path
from subprocess import PIPE
from tickmind.runner import Command, Isolation, Warden

isolation = Isolation(sys.argv[1])
agent = "setsid sh -c 'sleep 600 & sleep 600' & (trap '' TERM HUP; sleep 600 & wait) & echo ready; wait"
waiting = []

async def run(mark, ready):
    read, write = os.pipe()
    env = {"PATH": os.environ["PATH"], "MARK": mark}
    async with Warden(isolation) as warden:
        for _ in range(2):
            warden.launch(Command(("sh", "-c", agent), env, Path("/")), [write], lambda _: None)
        for _ in range(2):
            await asyncio.to_thread(os.read, read, 6)
        os.write(ready, b"x")
        await asyncio.sleep(600)

for line in sys.stdin:
    word, mark = line.split()
    if word == "start":
        came, ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            asyncio.run(run(mark, ready))
            os._exit(0)
        os.close(ready)
        waiting.append((pid, came))
    else:
        pid, came = waiting.pop(0)
        assert os.read(came, 1) == b"x"
        os.close(came)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(pid, flush=True)
"""


def kill_runners(isolation, mark, count, tools):
    """Kill runners with agents that fork twice, one after another; the seconds until each one's were gone."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNERS, str(isolation)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    gone_s = []
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(count + AHEAD):
            if number < count:
                process.stdin.write(f"start {mark}-{number}-\n")
            if number >= AHEAD:
                process.stdin.write(f"kill {mark}-{number - AHEAD}-\n")
                process.stdin.flush()
                assert process.stdout.readline()
                gone_s.append(tools.seconds_until_gone(f"{mark}-{number - AHEAD}-"))
        process.stdin.close()
    return gone_s


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.timeout(290)
def test_nobody_survives_a_killed_runner(isolation, mark, tools):
    count = KILLED_RUNNERS if isolation is tools.best() else 5
    gone_s = sorted(kill_runners(isolation, mark, count, tools))
    assert len(gone_s) == count
    sys.stdout.write(f"gone after {gone_s[count // 2]:.3f} s, the slowest of {count} after {gone_s[-1]:.3f} s\n")
    assert gone_s[-1] < 1.0
