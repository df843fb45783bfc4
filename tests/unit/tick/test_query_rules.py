"""The cached query against an obviously right one, under any changes, with loops running inside loops."""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.long import short_or_long

from tickmind.tick import AnyOf, Not, World
from tickmind.tick import rows as rows_module


@dataclass(eq=False)
class A:
    pass


@dataclass(eq=False)
class B:
    pass


@dataclass(eq=False)
class C:
    pass


KINDS = {"A": A, "B": B, "C": C}
QUERIES = [(A,), (A, B), (B, A), (A, Not(B)), (AnyOf(A, B), C), (Not(A),), (A, AnyOf(B, C)), (Not(A), Not(B))]
kinds = st.sampled_from(sorted(KINDS))


def matches(parts, terms):
    for term in terms:
        if isinstance(term, Not):
            if term.component_type in parts:
                return False
        elif isinstance(term, AnyOf):
            if not any(kind in parts for kind in term.component_types):
                return False
        elif term not in parts:
            return False
    return True


class Loop:
    """A running loop and what it must still visit."""

    def __init__(self, found, terms, expected):
        self.found = found
        self.terms = terms
        self.expected = expected  # ids, ascending


class Queries(RuleBasedStateMachine):
    @initialize(chunk=st.integers(1, 3), calm=st.sampled_from([1, 2, 4, 1000]))
    def start(self, chunk, calm):
        self.sizes = rows_module.CHUNK_ROWS, rows_module.CALM_LOOPS
        rows_module.CHUNK_ROWS, rows_module.CALM_LOOPS = chunk, calm
        self.world = World()
        self.parts: dict[int, dict[type, object]] = {}
        self.loops: list[Loop] = []

    def teardown(self):
        rows_module.CHUNK_ROWS, rows_module.CALM_LOOPS = self.sizes

    def changed(self):
        for loop in self.loops:
            loop.expected = [e for e in loop.expected if e in self.parts and matches(self.parts[e], loop.terms)]

    def some(self, data):
        return data.draw(st.sampled_from(sorted(self.parts)))

    @rule(names=st.sets(kinds))
    def spawn(self, names):
        components = [KINDS[name]() for name in sorted(names)]
        eid = self.world.spawn(*components)
        self.parts[eid] = {type(part): part for part in components}

    @precondition(lambda self: self.parts)
    @rule(data=st.data())
    def despawn(self, data):
        eid = self.some(data)
        self.world.despawn(eid)
        del self.parts[eid]
        self.changed()

    @precondition(lambda self: self.parts)
    @rule(data=st.data(), name=kinds)
    def attach(self, data, name):
        eid, part = self.some(data), KINDS[name]()
        self.world.attach(eid, part)
        self.parts[eid][type(part)] = part
        self.changed()

    @precondition(lambda self: self.parts)
    @rule(data=st.data(), name=kinds)
    def detach(self, data, name):
        eid = self.some(data)
        self.world.detach(eid, KINDS[name])
        self.parts[eid].pop(KINDS[name], None)
        self.changed()

    @rule()
    def restore(self):
        self.world.restore(self.world.snapshot())
        for eid, parts in self.parts.items():
            for kind in parts:
                parts[kind] = self.world.get(eid, kind)
        for loop in self.loops:
            loop.expected = []

    @rule(terms=st.sampled_from(QUERIES))
    def begin_loop(self, terms):
        expected = sorted(eid for eid, parts in self.parts.items() if matches(parts, terms))
        self.loops.append(Loop(self.world.query(*terms), terms, expected))

    @precondition(lambda self: self.loops)
    @rule(data=st.data())
    def step_loop(self, data):
        loop = data.draw(st.sampled_from(self.loops))
        wanted: tuple[int | None, tuple[object, ...]] = (None, ())
        if loop.expected:
            eid = loop.expected.pop(0)
            wanted = (eid, tuple(self.parts[eid][term] for term in loop.terms if isinstance(term, type)))
        got = next(loop.found, (None, ()))
        assert got == wanted
        if got[0] is None:
            self.loops.remove(loop)

    @precondition(lambda self: self.loops)
    @rule(data=st.data())
    def leave_loop(self, data):
        self.loops.remove(data.draw(st.sampled_from(self.loops)))

    @invariant()
    def counts_agree(self):
        for terms in QUERIES[:2]:
            if terms in self.world._queries:
                assert self.world.count(*terms) == sum(matches(parts, terms) for parts in self.parts.values())


Queries.TestCase.settings = settings(max_examples=short_or_long(60, 150), stateful_step_count=40)
TestQueries = pytest.mark.slow(Queries.TestCase)
