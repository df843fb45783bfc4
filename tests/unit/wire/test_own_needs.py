"""Needs that a scenario declares, in messages and in columns."""

from typing import Any

import numpy as np
import pytest
from tests.kits.wire_same import same
from tests.unit.world.test_own_needs import COLD

from tickmind.agent.control.columns import ColumnReader
from tickmind.server.delivery.slices import slice_columns
from tickmind.wire import codec, columns
from tickmind.wire.columns.packing import ColumnBounds
from tickmind.wire.errors import MessageError
from tickmind.world import TileWorld, parse_scenario


@pytest.fixture
def world():
    world = TileWorld.from_scenario(parse_scenario(COLD))
    world.step({})
    return world


def read_world(parts):
    reader = codec.WorldReader()
    for part in parts:
        reader.add(part)
    return reader.finish()


def test_the_description_of_a_world_names_needs_and_what_changes_them(world):
    assert read_world(codec.encode_world(world.info)) == world.info


def test_an_observation_says_the_observers_own_needs(world):
    for observation in world.observe([0, 1, 2]):
        again = codec.decode_observation(codec.encode_observation(observation))
        assert again == observation
        assert again.me.need("warmth") == observation.me.need("warmth") < 800


def test_columns_say_the_same(world):
    bounds = ColumnBounds.of(world.info)
    packed: Any = world.observe_columns()
    again = columns.decode_observation_columns(columns.encode_observation_columns(packed), bounds)
    assert same(again, packed)
    read = ColumnReader(world.info).read(again)
    assert [one.me for one in read] == [one.me for one in world.observe([0, 1, 2])]
    part: Any = slice_columns(packed, 1, 3)
    assert part.own_needs.tolist() == packed.own_needs.tolist()[1:]


def test_needs_beyond_their_range_or_of_another_number_are_refused(world):
    bounds = ColumnBounds.of(world.info)
    message = columns.encode_observation_columns(world.observe_columns())
    for spoilt in (
        message.own_needs[:-4],
        message.own_needs + b"\0\0\0\0",
        b"",
        np.full(6, 1001, "<i4").tobytes(),
        np.full(6, -1, "<i4").tobytes(),
    ):
        message.own_needs = spoilt
        with pytest.raises(MessageError, match="own_needs"):
            columns.decode_observation_columns(message, bounds)


def test_a_header_with_needs_or_items_that_do_not_fit_is_refused(world):
    for spoil in (
        lambda header: header.own_needs.append("warmth"),
        lambda header: header.own_needs.extend("abcdefghi"),
        lambda header: header.items.pop(),
        lambda header: setattr(header.items[0].use[0], "by", 1001),
    ):
        parts = list(codec.encode_world(world.info))
        spoil(parts[0].header)
        with pytest.raises(MessageError):
            read_world(parts)
