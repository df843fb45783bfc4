"""Who gets which agent, who shares a process, and whom a new mapping touches."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import EntityInfo
from tickmind.runner import AgentSpec, GroupRoster, Match, Moves, Rule, RunnerMapping

WALKER = AgentSpec("walker", ("true",), Path("/"))
VILLAGER = AgentSpec("villager", ("true",), Path("/"), per_process=3, fallback="walker")
MAPPING = RunnerMapping(
    {"walker": WALKER, "villager": VILLAGER},
    (Rule(Match(tags=frozenset({"npc"})), "villager"), Rule(Match(types=frozenset({"dog"})), "walker")),
)


def people(count, *tags, kind="human", first=1):
    return [EntityInfo(f"e{number:03}", kind, tags) for number in range(first, first + count)]


def ids(groups):
    return [(group.spec.name, group.entity_ids) for group in groups]


def test_the_first_rule_that_fits_decides():
    rules = (
        Rule(Match(ids=frozenset({"e001"})), ""),
        Rule(Match(tags=frozenset({"npc", "shy"})), "walker"),
        Rule(Match(), "villager"),
    )
    mapping = replace(MAPPING, rules=rules)
    assert mapping.spec_for(EntityInfo("e001", "human", ("npc", "shy"))) is None
    assert mapping.spec_for(EntityInfo("e002", "human", ("shy", "npc", "old"))) is WALKER
    assert mapping.spec_for(EntityInfo("e003", "human", ("npc",))) is VILLAGER


def test_whom_no_rule_fits_is_left_alone():
    assert GroupRoster(MAPPING).add(people(1, "player")) == Moves()


def test_one_process_hosts_as_many_as_its_spec_says():
    moves = GroupRoster(MAPPING).add([*people(7, "npc"), *people(2, kind="dog", first=50)])
    assert ids(moves.start) == [
        ("villager", ("e001", "e002", "e003")),
        ("villager", ("e004", "e005", "e006")),
        ("villager", ("e007",)),
        ("walker", ("e050",)),
        ("walker", ("e051",)),
    ]


def test_who_comes_later_disturbs_nobody():
    roster = GroupRoster(MAPPING)
    roster.add(people(2, "npc"))
    moves = roster.add(people(4, "npc"))
    assert moves.stop == ()
    assert ids(moves.start) == [("villager", ("e003", "e004"))]


def test_a_process_goes_on_until_its_last_character_left():
    roster = GroupRoster(MAPPING)
    (group,) = roster.add(people(2, "npc")).start
    assert roster.remove("e001") == Moves()
    assert roster.here(group).entity_ids == ("e002",)
    assert roster.remove("e002").stop == (group,)
    assert roster.remove("e002") == Moves()
    assert roster.groups == ()


def test_who_left_and_came_back_gets_a_process_beside_the_old_one():
    roster = GroupRoster(MAPPING)
    (group,) = roster.add(people(2, "npc")).start
    roster.remove("e001")
    (other,) = roster.add(people(1, "npc")).start
    assert (roster.here(group).entity_ids, other.entity_ids) == (("e002",), ("e001",))
    assert group.key != other.key
    assert group.folder_name != other.folder_name


def test_the_same_mapping_touches_nobody():
    roster = GroupRoster(MAPPING)
    roster.add([*people(4, "npc"), *people(2, kind="dog", first=50)])
    assert roster.remap(replace(MAPPING)) == Moves()


def test_a_new_mapping_touches_only_whom_it_concerns():
    roster = GroupRoster(MAPPING)
    roster.add([*people(2, "npc"), *people(1, kind="dog", first=50)])
    other = replace(WALKER, cmd=("false",))
    moves = roster.remap(replace(MAPPING, agents={"walker": other, "villager": replace(VILLAGER, fallback="")}))
    assert ids(moves.stop) == [("villager", ("e001", "e002")), ("walker", ("e050",))]
    moves = roster.remap(replace(roster.mapping, agents={**roster.mapping.agents, "walker": WALKER}))
    assert ids(moves.stop) == ids(moves.start) == [("walker", ("e050",))]


def test_a_rule_that_moves_some_moves_their_process_only():
    roster = GroupRoster(MAPPING)
    roster.add(people(6, "npc"))
    rules = (Rule(Match(ids=frozenset({"e002"})), "walker"), *MAPPING.rules)
    moves = roster.remap(replace(MAPPING, rules=rules))
    assert ids(moves.stop) == [("villager", ("e001", "e002", "e003"))]
    assert ids(moves.start) == [("villager", ("e001", "e003")), ("walker", ("e002",))]


def test_another_gateway_concerns_everybody():
    roster = GroupRoster(MAPPING)
    roster.add(people(2, "npc"))
    assert len(roster.remap(replace(MAPPING, gateway_url="http://127.0.0.1:1")).stop) == 1


def test_a_fallback_that_hosts_fewer_gets_more_processes():
    roster = GroupRoster(MAPPING)
    (group,) = roster.add(people(3, "npc")).start
    roster.remove("e002")
    moves = roster.fall_back(group)
    assert moves.stop == (group,)
    assert ids(moves.start) == [("walker", ("e001",)), ("walker", ("e003",))]
    assert {each.instead_of for each in moves.start} == {"villager"}
    assert roster.remap(replace(MAPPING)) == Moves()


def test_a_mended_spec_takes_its_characters_back_from_the_fallback():
    roster = GroupRoster(MAPPING)
    (group,) = roster.add(people(2, "npc")).start
    roster.fall_back(group)
    mended = replace(VILLAGER, cmd=("mended",))
    moves = roster.remap(replace(MAPPING, agents={"walker": WALKER, "villager": mended}))
    assert ids(moves.stop) == [("walker", ("e001",)), ("walker", ("e002",))]
    assert ids(moves.start) == [("villager", ("e001", "e002"))]


def test_names_of_folders_and_controllers_are_safe_and_last():
    group = GroupRoster(MAPPING).add([EntityInfo("../a b:1", "dog")]).start[0]
    again = GroupRoster(MAPPING).add([EntityInfo("../a b:1", "dog")]).start[0]
    assert group.folder_name == again.folder_name
    assert "/" not in group.folder_name
    assert "." not in group.folder_name
    assert group.assignments("r")[0].controller_id == "r:../a b:1:walker"
    assert GroupRoster(MAPPING).add([EntityInfo("../a_b:1", "dog")]).start[0].folder_name != group.folder_name


@given(st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["add", "remove", "fall back", "remap"])), max_size=40))
def test_everybody_is_in_exactly_one_process(steps):
    roster, there = GroupRoster(MAPPING), set()
    for number, what in steps:
        if what == "add":
            roster.add(people(1, "npc", first=number))
            there.add(f"e{number:03}")
        elif what == "remove":
            roster.remove(f"e{number:03}")
            there.discard(f"e{number:03}")
        elif what == "fall back" and (villagers := [each for each in roster.groups if each.spec.fallback]):
            roster.fall_back(villagers[number % len(villagers)])
        elif what == "remap":
            settings = replace(VILLAGER, missed_intents=number % 3)
            roster.remap(replace(MAPPING, agents={"walker": WALKER, "villager": settings}))
    hosted = [each for group in roster.groups for each in roster.here(group).entity_ids]
    assert sorted(hosted) == sorted(there)
    assert all(len(group.entity_ids) <= group.spec.per_process for group in roster.groups)
    assert len({group.folder_name for group in roster.groups}) == len(roster.groups)
