"""Boards take messages as mappings."""

import json

import pytest

from tickmind.ai import BoardManager
from tickmind.ai.board_tools import board_tools
from tickmind.ai.boards import BoardError
from tickmind.base import LimitExceededError
from tickmind.tools import ToolContext


def board() -> tuple[BoardManager, str]:
    manager = BoardManager()
    return manager, manager.ensure_board(["ash", "birch"])


def test_a_mapping_is_posted_whole_and_nobody_can_change_it_later() -> None:
    manager, board_id = board()
    message = {"text": "Berries!", "at": [3, 4]}
    manager.post(board_id, "ash", message)
    message["text"] = "None."
    [post] = manager.read(board_id, "birch")
    assert (post.text, post.data) == ("Berries!", {"text": "Berries!", "at": [3, 4]})


def test_a_mapping_without_a_text_is_read_as_json() -> None:
    manager, board_id = board()
    post = manager.post(board_id, "ash", {"at": [3, 4]})
    assert json.loads(post.text) == {"at": [3, 4]}


def test_data_survives_a_snapshot() -> None:
    manager, board_id = board()
    manager.post(board_id, "ash", {"text": "Berries!", "at": [3, 4]})
    manager.post(board_id, "ash", "Plain.")
    other = BoardManager()
    other.restore(json.loads(json.dumps(manager.snapshot())))
    assert other.read(board_id, "birch") == manager.read(board_id, "birch")


@pytest.mark.parametrize("message", [{}, {"text": " "}, {"x": object()}])
def test_what_is_no_message_is_refused(message: dict[str, object]) -> None:
    manager, board_id = board()
    with pytest.raises(BoardError):
        manager.post(board_id, "ash", message)
    assert manager.read(board_id, "birch") == ()


def test_data_counts_against_the_length_of_a_post() -> None:
    manager, board_id = board()
    with pytest.raises(LimitExceededError):
        manager.post(board_id, "ash", {"text": "short", "more": "x" * 5_000})


@pytest.mark.asyncio
async def test_models_read_the_data_and_can_not_be_fooled_about_the_author() -> None:
    manager, board_id = board()
    manager.post(board_id, "ash", {"text": "Berries!", "author": "birch", "index": 99})
    [read, *_] = board_tools(manager)
    result = await read.execute({"board_id": board_id}, ToolContext("birch"))
    assert result.to_dict()["data"]["messages"] == [{"index": 0, "author": "ash", "text": "Berries!"}]
