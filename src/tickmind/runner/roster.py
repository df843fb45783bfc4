"""The roster: groups characters into processes; a new mapping changes as few groups as possible. Pure."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tickmind.agent import Assignment
from tickmind.protocol import EntityInfo
from tickmind.runner.spec import AgentSpec, RunnerMapping

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Group:
    """The characters of one process, in the order of their ids; `instead_of` is the agent that it replaces.

    The key is unique within a runner; the same characters get the same key in the next run.
    """

    key: str
    spec: AgentSpec
    entity_ids: tuple[str, ...]
    instead_of: str = ""

    @property
    def folder_name(self) -> str:
        """The key as a file's name: readable and unique."""
        digest = hashlib.blake2b(self.key.encode(), digest_size=4).hexdigest()
        return f"{_UNSAFE.sub('_', self.key)[:80]}-{digest}"

    def assignments(self, runner: str) -> tuple[Assignment, ...]:
        """Return which controller controls which character."""
        controller = f"{runner}:{self.key.partition('@')[2]}:{self.spec.name}"
        return tuple(Assignment(entity_id, controller) for entity_id in self.entity_ids)


@dataclass(frozen=True, slots=True)
class Moves:
    """The changes to make: processes to stop, and processes to start."""

    stop: tuple[Group, ...] = ()
    start: tuple[Group, ...] = ()


class GroupRoster:
    """All groups of a runner."""

    def __init__(self, mapping: RunnerMapping) -> None:
        self.mapping = mapping
        self._entities: dict[str, EntityInfo] = {}  # id -> entity
        self._groups: dict[str, Group] = {}  # key -> group
        self._group_of: dict[str, str] = {}  # entity id -> key

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups."""
        return tuple(self._groups.values())

    @property
    def known(self) -> frozenset[str]:
        """The ids of all known characters of the world."""
        return frozenset(self._entities)

    def add(self, entities: Iterable[EntityInfo]) -> Moves:
        """Add characters that came into the world; known ones stay where they are."""
        fresh = [entity for entity in entities if entity.entity_id not in self._entities]
        self._entities.update((entity.entity_id, entity) for entity in fresh)
        return Moves(start=self._place(fresh))

    def remove(self, entity_id: str) -> Moves:
        """Remove a character that left the world; its process runs on for the others, if there are any."""
        if self._entities.pop(entity_id, None) is None or entity_id not in self._group_of:
            return Moves()
        key = self._group_of.pop(entity_id)
        group = self._groups[key]
        if any(other in self._group_of for other in group.entity_ids):
            return Moves()
        return Moves(stop=(self._forget(group),))

    def here(self, group: Group) -> Group:
        """Return the group without characters that left the world; they are dropped at its process's next start."""
        present = tuple(each for each in group.entity_ids if self._group_of.get(each) == group.key)
        return replace(group, entity_ids=present) if present else group

    def remap(self, mapping: RunnerMapping) -> Moves:
        """Apply another mapping. Groups with the same agent, settings and fallbacks are not touched."""
        old, self.mapping = self.mapping, mapping
        stop = tuple(self._forget(group) for group in self.groups if not self._is_same(group, old))
        free = [entity for entity in self._entities.values() if entity.entity_id not in self._group_of]
        return Moves(stop=stop, start=self._place(free))

    def fall_back(self, group: Group) -> Moves:
        """Replace the agent of a group, which failed too often, by its fallback."""
        spec = self.mapping.agents[group.spec.fallback]
        there = [each for each in group.entity_ids if self._group_of.get(each) == group.key]
        self._forget(group)
        return Moves(stop=(group,), start=self._split(spec, there, group.instead_of or group.spec.name))

    def _is_same(self, group: Group, old: RunnerMapping) -> bool:
        first = group.instead_of or group.spec.name
        if self.mapping.chain(first) != old.chain(first) or _outside(self.mapping) != _outside(old):
            return False
        wanted = (self.mapping.spec_for(self._entities[each]) for each in group.entity_ids if each in self._group_of)
        return all(spec is not None and spec.name == first for spec in wanted)

    def _place(self, entities: list[EntityInfo]) -> tuple[Group, ...]:
        by_spec: dict[str, list[str]] = {}
        for entity in entities:
            spec = self.mapping.spec_for(entity)
            if spec is not None:
                by_spec.setdefault(spec.name, []).append(entity.entity_id)
        return tuple(
            group for name, ids in by_spec.items() for group in self._split(self.mapping.agents[name], ids, "")
        )

    def _split(self, spec: AgentSpec, entity_ids: list[str], instead_of: str) -> tuple[Group, ...]:
        made = []
        for first in range(0, len(entity_ids), spec.per_process):
            chosen = tuple(entity_ids[first : first + spec.per_process])
            group = Group(self._free_key(f"{spec.name}@{chosen[0]}"), spec, chosen, instead_of)
            self._groups[group.key] = group
            self._group_of.update(dict.fromkeys(group.entity_ids, group.key))
            made.append(group)
        return tuple(made)

    def _free_key(self, key: str) -> str:
        """Return an unused key; another group may still be named after a character that left and came back."""
        free, number = key, 2
        while free in self._groups:
            free, number = f"{key}+{number}", number + 1
        return free

    def _forget(self, group: Group) -> Group:
        self._groups.pop(group.key, None)
        for entity_id in group.entity_ids:
            if self._group_of.get(entity_id) == group.key:
                del self._group_of[entity_id]
        return group


def _outside(mapping: RunnerMapping) -> tuple[object, ...]:
    """Return what every process gets besides its spec."""
    return (
        mapping.world_addr,
        mapping.name,
        mapping.world_ws_url,
        mapping.gateway_url,
        mapping.session,
        mapping.world_token,
        mapping.tls,
        mapping.replies,
    )
