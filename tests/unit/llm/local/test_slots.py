"""Slots: a character keeps its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.local.slots import SlotPins


def test_a_character_keeps_its_slot() -> None:
    pins = SlotPins(2)
    assert [pins.slot_for(name) for name in ("anna", "bert", "anna", "bert")] == [0, 1, 0, 1]


def test_a_released_place_goes_to_the_next_character() -> None:
    pins = SlotPins(2)
    pins.slot_for("anna")
    pins.slot_for("bert")
    pins.release("anna")
    pins.release("nobody")
    assert pins.slot_for("carl") == 0


def test_the_extra_fields_pin_the_request() -> None:
    assert SlotPins(1).extra_for("anna") == {"id_slot": 0, "cache_prompt": True}


def test_a_model_has_at_least_one_slot() -> None:
    with pytest.raises(LLMConfigError):
        SlotPins(0)


@given(st.integers(1, 8), st.lists(st.text(max_size=3), max_size=60))
def test_slots_are_shared_evenly(slots: int, names: list[str]) -> None:
    pins = SlotPins(slots)
    given_slots = {name: pins.slot_for(name) for name in names}
    counts = [list(given_slots.values()).count(slot) for slot in range(slots)]
    assert max(counts) - min(counts) <= 1
