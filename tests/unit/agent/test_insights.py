"""What minds show of themselves: what is new, no more than the wire takes, and no secrets."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.agent import Character, CharacterHost, Start, show_mind
from tickmind.agent.minds import PlainMindHost
from tickmind.agent.reporting.insights import WHOLE_TICKS, InsightCollector, MindState, showing
from tickmind.agent.testing import SmallWorld
from tickmind.ai import Action, Condition, Selector, Sequence, Status
from tickmind.base import Limit, Secret
from tickmind.mind.memory import EntryKind, MemoryEntry
from tickmind.protocol import BoardEntry, MemoryNote, NodeStatus, Wait
from tickmind.wire import codec

TREE = [(0, "Selector"), (1, "eat"), (1, "wait")]
IDLE, GOOD, BAD = (int(one) for one in (NodeStatus.IDLE, NodeStatus.SUCCESS, NodeStatus.FAILURE))


def look(mirror, tick, mind):
    mirror.look(tick, "a", mind)
    return mirror.take()


def entry(tick, text, *about):
    return MemoryEntry(tick, EntryKind.SAW, tick, text, 0.5, about)


def test_first_everything_is_shown_then_only_what_is_new_and_then_nothing():
    mirror = InsightCollector()
    note = entry(1, "I met Bob.", "bob")
    shown = MemoryNote(1, "I met Bob.", "bob", 0.5, "saw", number=1)
    (first,) = look(mirror, 1, MindState(TREE, {0: Status.SUCCESS, 1: Status.SUCCESS}, {"goal": "eat"}, [note]))
    assert first.whole
    assert [(line.depth, line.text) for line in first.tree] == TREE
    assert first.node_statuses == bytes((GOOD, GOOD, IDLE))
    assert first.board == (BoardEntry("goal", '"eat"'),)
    assert first.memories == (shown,)
    later = MindState(TREE, {0: Status.SUCCESS, 1: Status.FAILURE, 2: Status.SUCCESS}, {"n": 1}, [note])
    (second,) = look(mirror, 2, later)
    assert (second.whole, second.tree, second.memories) == (False, (), ())
    assert second.node_statuses == bytes((GOOD, BAD, GOOD))
    assert (second.board, second.gone_keys) == ((BoardEntry("n", "1"),), ("goal",))
    assert look(mirror, 3, later) == []
    (again,) = look(mirror, 1 + WHOLE_TICKS, later)
    assert again.whole
    assert again.memories == (shown,)


def test_the_minds_of_a_process_are_shown_whole_in_ticks_of_their_own():
    mirror, names = InsightCollector(), [f"mind{number}" for number in range(8)]
    whole: dict[str, list[int]] = {name: [] for name in names}
    for tick in range(1, 2 + 2 * WHOLE_TICKS):
        for name in names:
            mirror.look(tick, name, MindState(TREE, board={"tick": tick}))
        for insight in mirror.take():
            if insight.whole:
                whole[insight.entity_id].append(tick)
    assert all(first == 1 and third - second == WHOLE_TICKS for first, second, third in whole.values())
    assert len({second for _, second, _ in whole.values()}) > len(names) / 2


def test_a_value_that_was_changed_in_place_is_noticed():
    mirror, path = InsightCollector(), [1]
    look(mirror, 1, MindState(board={"path": path}))
    path.append(2)
    (found,) = look(mirror, 2, MindState(board={"path": path}))
    assert found.board == (BoardEntry("path", "[1,2]"),)


def test_secrets_are_masked_wherever_they_stand():
    key = Secret("a-very-secret-password-1234").reveal()
    mind = MindState([(0, f"login {key}")], {}, {key: {"with": key}}, [entry(1, f"It is {key}.", key)])
    (found,) = look(InsightCollector(), 1, mind)
    assert key not in repr(found)


def test_minds_are_looked_into_by_turns_and_only_when_there_is_time():
    mirror = InsightCollector(max_looks=Limit("minds", 2))
    names = ["a", "b", "c", "d", "e"]
    seen = []
    for tick in range(1, 6):
        chosen = mirror.choose(names)
        assert len(chosen) == 2
        for name in chosen:
            mirror.look(tick, name, MindState(board={"tick": tick}))
        seen += [one.entity_id for one in mirror.take()]
    assert sorted(seen) == sorted(names * 2)
    for name in (*names, "a", "b", "c"):
        mirror.look(9, name, MindState(board={"tick": 9}))
    assert mirror.choose(names) == []  # until somebody takes what was found
    mirror.take()
    assert mirror.choose(names) == ["d", "e"]


class Odd:
    """Something that has no form."""

    def __str__(self):
        raise RuntimeError("no words for it")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Odd),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=5,
)


@settings(max_examples=short_or_long(20, 40))
@given(
    board=st.dictionaries(st.text(st.characters()) | st.integers() | st.just("k" * 300), VALUES, max_size=5),
    texts=st.lists(st.text(st.characters()) | st.just("m" * 600), max_size=5),
    nodes=st.lists(st.text(st.characters()) | st.just("n" * 300), max_size=5),
)
def test_whatever_a_mind_holds_the_world_can_read_it(board, texts, nodes):
    mind = MindState([(1, text) for text in nodes], {0: Status.RUNNING}, board, [entry(1, text) for text in texts])
    (found,) = look(InsightCollector(), 1, mind)
    assert codec.decode_insight(codec.encode_insight(found)) == found


def test_of_too_much_only_so_much_is_shown():
    many = range(1000)
    mind = MindState(
        [(1, "n" * 500) for _ in many],
        dict.fromkeys(many, Status.RUNNING),
        {f"{number}": ["v" * 5000] for number in many},
        [entry(number, f"{number}" + "m" * 600) for number in many],
    )
    (found,) = look(InsightCollector(), 1, mind)
    assert codec.decode_insight(codec.encode_insight(found)) == found
    assert [len(part) for part in (found.tree, found.node_statuses, found.board)] == [400, 400, 100]
    assert [note.tick_id for note in found.memories] == list(range(970, 1000))


class Eater(Character):
    tree = Selector(Sequence(Condition("hungry"), Action("eat", {"item": "berries"})), Action("wait"), memory=False)


def test_a_character_shows_its_tree_blackboard_and_memories_by_itself():
    world = SmallWorld("@ B", hunger=500, carrying={"berries": 1})
    company = CharacterHost(Eater, Start)
    company.character("me").blackboard.set("mood", "fine")
    company.begin(0, [])
    world.hear("B", "hello me")
    world.live(company, 1)
    (first,) = company.take_insights()
    assert [note.text for note in first.memories] == ["I met B.", "B said to me: hello me"]
    texts = [line.text for line in first.tree]
    assert texts == ["Selector (no memory)", "Sequence", "hungry?", "eat(item=berries)", "wait"]
    assert [line.depth for line in first.tree] == [0, 1, 2, 2, 1]
    assert first.node_statuses == bytes((GOOD, GOOD, GOOD, GOOD, IDLE))
    assert first.board == (BoardEntry("mood", '"fine"'),)
    assert first.tick_id == 1
    world.live(company, 1)
    (second,) = company.take_insights()
    assert second.node_statuses == bytes((GOOD, BAD, BAD, IDLE, GOOD))
    assert not second.whole


def test_a_plain_agent_shows_its_mind_with_one_call():
    @dataclass
    class Counter:
        seen: int = 0

        def act(self, observation):
            self.seen += 1
            show_mind(board={"seen": self.seen}, memories=["It was dark."], tree=[(0, "wait", Status.SUCCESS)])
            return Wait()

    world = SmallWorld("@")
    host = PlainMindHost(lambda _start: Counter(), Start)
    world.live(host, 2)
    first, second = host.take_insights()
    assert first.board == (BoardEntry("seen", "1"),)
    assert (second.board, second.memories, second.node_statuses) == ((BoardEntry("seen", "2"),), (), None)
    assert [note.text for note in first.memories] == ["It was dark."]
    assert first.node_statuses == bytes((GOOD,))


def test_show_mind_outside_of_a_running_agent_does_nothing():
    show_mind(board={"a": 1})
    with showing() as sheet:
        pass
    assert sheet == []
