"""The warden's process: it starts all others for its runner, and ends them all when the runner is gone.

Standard library only, until an agent needs its kit, and one thread: it forks without exec, which a process with threads
must not do.
"""

import json
import os
import resource
import select
import signal
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from tickmind.runner.warden.isolation import Isolation, adopt_orphans, best_isolation, die_with_parent, fork_isolated
from tickmind.runner.warden.keeper import keep
from tickmind.runner.warden.order import MAX_MESSAGE_BYTES, Ending, Order
from tickmind.runner.warden.tree import end_all_children, make_polite, processes
from tickmind.runner.warden.warm import Kit

_MOST_DESCRIPTORS = 8
_GROUP_NICE = 5  # of all started processes together, against everything else on the machine


@dataclass(slots=True)
class _Tree:
    """One started tree, by the keeper at its root."""

    number: int
    keeper: int  # pid
    line: socket.socket
    report: bytes = b""


class _Warden:
    """Takes orders and reports endings until the runner is gone and all trees have ended."""

    def __init__(self, talk: socket.socket, isolation: Isolation) -> None:
        self._talk = talk
        self._isolation = isolation
        self._trees: dict[int, _Tree] = {}  # number -> tree
        self._by_line: dict[int, _Tree] = {}  # descriptor -> tree
        self._poll = select.poll()
        self._kit = Kit()
        self.stopped = False

    def run(self, woken: int) -> None:
        self._poll.register(self._talk, select.POLLIN)
        self._poll.register(woken, select.POLLIN)
        while not self.stopped:
            for descriptor, _ in self._poll.poll():
                if descriptor == woken:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    self._bury_strays()
                elif descriptor == self._talk.fileno():
                    if not self._obey():
                        return
                elif (tree := self._by_line.get(descriptor)) is not None:
                    self._hear(tree)

    def _obey(self) -> bool:
        """Handle one order; return False when there will be no more."""
        data, descriptors, _, _ = socket.recv_fds(self._talk, MAX_MESSAGE_BYTES, _MOST_DESCRIPTORS)
        if not data:
            return False
        said: dict[str, Any] = json.loads(data)
        if "start" in said:
            self._start(Order.read(said["start"]), descriptors)
        elif "warm" in said:
            self._kit.holds(said["warm"])
        elif (tree := self._trees.get(said["number"])) is not None:
            if "stop_ms" in said:
                with suppress(OSError):  # it has just ended
                    tree.line.send(b"stop %d\n" % said["stop_ms"])
            elif self._isolation is Isolation.SUBREAPER:
                with suppress(OSError):  # it has just ended
                    tree.line.shutdown(socket.SHUT_WR)  # its keeper then ends the tree
            else:
                os.kill(tree.keeper, signal.SIGKILL)  # which also ends the namespace
        return True

    def _start(self, order: Order, descriptors: list[int]) -> None:
        warm = self._kit.holds(order.kit)
        ours, theirs = socket.socketpair()
        try:
            pid = fork_isolated(self._isolation)
        except OSError as error:
            ours.close()
            self._report(order.number, Ending(trouble=f"no process can be started: {error.strerror}"))
        else:
            if pid == 0:
                keep(order, theirs.fileno(), descriptors, self._isolation, warm=warm)
            tree = _Tree(order.number, pid, ours)
            self._trees[order.number] = self._by_line[ours.fileno()] = tree
            self._poll.register(ours, select.POLLIN)
            self._say({"started": order.number, "pid": pid})
        theirs.close()
        for each in descriptors:
            os.close(each)

    def _hear(self, tree: _Tree) -> None:
        """Handle a keeper's message; at its end the tree is gone, which is reported."""
        try:
            said = tree.line.recv(4096)
        except ConnectionResetError:
            said = b""
        tree.report += said
        if said:
            return
        self._poll.unregister(tree.line)
        del self._trees[tree.number], self._by_line[tree.line.fileno()]
        tree.line.close()
        os.waitpid(tree.keeper, 0)  # a namespace is empty when its first process can be reaped
        if not tree.report and self._isolation is Isolation.SUBREAPER:
            self._end_strays()
        self._report(tree.number, Ending.read(tree.report))

    def _end_strays(self) -> None:
        """Kill adopted processes whose keeper was killed; their children are adopted in turn."""
        me, keepers = os.getpid(), {tree.keeper for tree in self._trees.values()}
        while strays := [pid for pid, parent in processes() if parent == me and pid not in keepers]:
            for pid in strays:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _bury_strays(self) -> None:
        """Reap adopted processes that have ended; the keepers are waited for by pid."""
        keepers = {tree.keeper for tree in self._trees.values()}
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_pid in keepers:
                    return
                os.waitpid(ended.si_pid, 0)

    def _report(self, number: int, ending: Ending) -> None:
        self._say({"ended": number, **asdict(ending)})

    def _say(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # the runner is gone, which the next read of the socket shows
            self._talk.send(json.dumps(message).encode())

    def hello(self) -> None:
        self._say({"isolation": str(self._isolation)})


def main(descriptor: int, wanted: str) -> int:
    """Serve the runner at the other end of a socket; `wanted` is an isolation, or empty for the best one."""
    isolation = Isolation(wanted) if wanted else best_isolation()
    with suppress(PermissionError):
        os.setsid()  # Ctrl-C is for the runner, which then stops the agents in order
    make_polite([os.getpid()], _GROUP_NICE)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # one descriptor for each tree
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    with socket.socket(fileno=descriptor) as talk:
        warden = _Warden(talk, isolation)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        if isolation is Isolation.SUBREAPER:
            adopt_orphans()
            signal.signal(signal.SIGTERM, lambda _number, _frame: setattr(warden, "stopped", True))
            die_with_parent(signal.SIGTERM)
        else:
            die_with_parent(signal.SIGKILL)  # the keepers die with this process, and the namespaces with them
        warden.hello()
        try:
            warden.run(woken)
        finally:
            end_all_children()
    return 0
