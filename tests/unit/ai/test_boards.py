import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.ai.board_tools import board_tools
from tickmind.ai.boards import (
    BoardAccessError,
    BoardError,
    BoardInfo,
    BoardManager,
    BoardView,
    Post,
    UnknownBoardError,
)
from tickmind.base import ConfigError, Limit, LimitExceededError
from tickmind.tools import Failed, Ok, ToolContext
from tickmind.tools.plain import json_text


def test_the_same_participants_have_the_same_board() -> None:
    boards = BoardManager()
    first = boards.ensure_board(["bob", "amy"])
    assert boards.ensure_board(("amy", "bob", "amy")) == first
    assert boards.ensure_board(["amy", "bob", "cid"]) != first
    assert boards.get_my_boards("bob") == (first, "board-2")
    assert boards.get_my_boards("cid") == ("board-2",)
    assert boards.get_my_boards("dan") == ()


def test_posts_are_read_in_order_and_from_an_index_on() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy", "bob"])
    boards.post(board, "amy", "hello")
    boards.post(board, "bob", "hi")
    assert boards.read(board, "bob") == (Post(0, "amy", "hello"), Post(1, "bob", "hi"))
    assert boards.read(board, "amy", since=1) == (Post(1, "bob", "hi"),)
    assert boards.read(board, "amy", since=2) == ()


def test_a_view_shows_the_board_and_its_posts_at_one_moment() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy", "bob"])
    for text in ("hello", "hi"):
        boards.post(board, "amy", text)
    assert boards.view(board, "bob", since=1) == BoardView(boards.info(board, "bob"), (Post(1, "amy", "hi"),))


def test_only_participants_read_and_write() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy", "bob"])
    boards.post(board, "amy", "secret plan")
    for act in (
        lambda: boards.read(board, "eve"),
        lambda: boards.post(board, "eve", "me too"),
        lambda: boards.info(board, "eve"),
        lambda: boards.view(board, "eve"),
    ):
        with pytest.raises(BoardAccessError, match="'eve' takes no part"):
            act()
    with pytest.raises(UnknownBoardError, match="the boards of 'amy': board-1"):
        boards.read("board-9", "amy")
    assert len(boards.read(board, "amy")) == 1


def test_old_posts_are_dropped_and_indices_keep_growing() -> None:
    boards = BoardManager(max_posts_kept=Limit("posts", 3))
    board = boards.ensure_board(["amy"])
    for number in range(10):
        assert boards.post(board, "amy", str(number)).index == number
    assert [post.index for post in boards.read(board, "amy")] == [7, 8, 9]
    assert boards.info(board, "amy") == BoardInfo(board, ("amy",), 7, 10)


def test_everything_is_bounded() -> None:
    boards = BoardManager(
        max_boards=Limit("boards", 1), max_participants=Limit("participants", 2), max_post_chars=Limit("post", 5)
    )
    board = boards.ensure_board(["amy"])
    for act in (
        lambda: boards.ensure_board(["bob"]),
        lambda: boards.ensure_board(["a", "b", "c"]),
        lambda: boards.ensure_board(["x" * 1_000]),
        lambda: boards.post(board, "amy", "too long"),
    ):
        with pytest.raises(LimitExceededError):
            act()
    assert boards.get_my_boards("bob") == ()
    with pytest.raises(BoardError, match="must not be empty"):
        boards.post(board, "amy", "  ")


@pytest.mark.parametrize("participants", ["amy", [], [""]])
def test_participants_must_be_names(participants: Any) -> None:
    with pytest.raises(ConfigError):
        BoardManager().ensure_board(participants)


@given(
    st.lists(st.tuples(st.frozensets(st.sampled_from("abc"), min_size=1), st.text(min_size=1, max_size=5)), max_size=20)
)
@pytest.mark.slow
def test_a_snapshot_brings_everything_back(posts: list[tuple[frozenset[str], str]]) -> None:
    boards = BoardManager(max_posts_kept=Limit("posts", 3))
    for participants, text in posts:
        board = boards.ensure_board(participants)
        if text.strip():
            boards.post(board, min(participants), text)
    plain = json.loads(json.dumps(boards.snapshot()))
    other = BoardManager(max_posts_kept=Limit("posts", 3))
    other.ensure_board(["gone"])
    other.restore(plain)
    assert other.snapshot() == boards.snapshot() == plain
    assert other.get_my_boards("gone") == ()
    assert other.get_my_boards("a") == boards.get_my_boards("a")
    assert other.ensure_board(["new"]) not in {board["board_id"] for board in plain["boards"]}


@pytest.mark.parametrize("plain", [{}, {"version": 2, "boards": []}, {"version": 1, "boards": [{}]}, {"version": 1}])
def test_what_is_no_snapshot_changes_nothing(plain: dict[str, Any]) -> None:
    boards = BoardManager()
    boards.ensure_board(["amy"])
    with pytest.raises(ConfigError):
        boards.restore(plain)
    assert boards.get_my_boards("amy") == ("board-1",)


def test_threads_lose_no_post() -> None:
    boards = BoardManager(max_posts_kept=Limit("posts", 10_000))

    def write(name: str) -> None:
        for number in range(200):
            boards.post(boards.ensure_board(["t0", "t1", "t2", "t3"]), name, str(number))

    threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [post.index for post in boards.read("board-1", "t0")] == list(range(800))


@pytest.mark.asyncio
async def test_the_board_tools_act_as_the_agent_that_calls_them() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy", "bob"])
    read_board, post_message_to_board, get_my_boards = board_tools(boards)
    amy, eve = ToolContext(agent_id="amy"), ToolContext(agent_id="eve")

    posted = await post_message_to_board.execute({"board_id": board, "text": "hello"}, amy)
    assert isinstance(posted, Ok)
    assert posted.data == {"board_id": board, "index": 0}
    seen = await read_board.execute({"board_id": board}, ToolContext(agent_id="bob"))
    assert isinstance(seen, Ok)
    message = {"index": 0, "author": "amy", "text": "hello"}
    assert seen.data == {"board_id": board, "messages": [message], "next_index": 1}
    nothing = await read_board.execute({"board_id": board, "since": "1"}, amy)
    assert isinstance(nothing, Ok)
    assert nothing.data == {"board_id": board, "messages": [], "next_index": 1}
    mine = await get_my_boards.execute({}, amy)
    assert isinstance(mine, Ok)
    assert mine.data == [{"board_id": board, "participants": ["amy", "bob"], "next_index": 1}]

    refused = await post_message_to_board.execute({"board_id": board, "text": "me too"}, eve)
    assert isinstance(refused, Failed)
    assert refused.message == "'eve' takes no part in a board 'board-1'; the boards of 'eve': none"
    impostor = await post_message_to_board.execute({"board_id": board, "text": "x", "ctx": {"agent_id": "amy"}}, eve)
    assert isinstance(impostor, Failed)
    assert len(boards.read(board, "amy")) == 1
    assert [tool.name for tool in board_tools(boards)] == ["read_board", "post_message_to_board", "get_my_boards"]
    assert list(read_board.schema["properties"]) == ["board_id", "since"]


async def reading(boards: BoardManager, since: int = 0, **options: Limit) -> Ok:
    """What `read_board` gives to a model."""
    read_board = board_tools(boards, **options)[0]
    result = await read_board.execute({"board_id": "board-1", "since": since}, ToolContext(agent_id="amy"))
    assert isinstance(result, Ok)
    return result


@pytest.mark.asyncio
async def test_a_full_board_is_read_from_its_newest_post_on_backwards() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy"])
    for number in range(300):
        boards.post(board, "amy", f"{number} " + "\x01é\n" * 600)
    seen = await reading(boards)
    assert not seen.truncated
    assert 15_000 < len(seen.text) <= 20_000
    shown = [message["index"] for message in seen.data["messages"]]
    assert shown == list(range(shown[0], 300))
    assert seen.data["next_index"] == 300
    assert seen.data["older_messages_left_out"] == shown[0]
    assert (await reading(boards, since=299)).data.keys() == {"board_id", "next_index", "messages"}


@pytest.mark.asyncio
async def test_a_post_that_is_made_while_somebody_reads_is_not_taken_for_read() -> None:
    class Busy(BoardManager):
        """Somebody posts whenever it is asked how far the posts go."""

        def info(self, board_id: str, reader: str) -> BoardInfo:
            self.post(board_id, "amy", "just now")
            return super().info(board_id, reader)

    boards = Busy()
    boards.ensure_board(["amy"])
    first = (await reading(boards)).data
    boards.post("board-1", "amy", "at last")
    later = (await reading(boards, since=first["next_index"])).data
    seen = [message["index"] for message in first["messages"] + later["messages"]]
    assert seen == list(range(later["next_index"]))


@pytest.mark.asyncio
async def test_a_post_that_does_not_fit_by_itself_is_shortened_and_the_index_is_still_told() -> None:
    boards = BoardManager()
    board = boards.ensure_board(["amy"])
    boards.post(board, "amy", "short")
    boards.post(board, "amy", "\x01" * 4_000)
    seen = await reading(boards)
    assert seen.truncated
    assert '"next_index":2,"older_messages_left_out":1,"messages":[{"index":1,"author":"amy","text":"' in seen.text


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.strip), max_size=12),
    st.integers(-1, 14),
    st.integers(0, 400),
)
def test_what_is_shown_and_what_is_left_out_make_up_the_whole(texts: list[str], since: int, room: int) -> None:
    boards = BoardManager(max_posts_kept=Limit("posts", 8))
    board = boards.ensure_board(["amy"])
    for text in texts:
        boards.post(board, "amy", text)
    read_board = board_tools(boards, max_result_chars=Limit("result", room))[0]
    seen = read_board(board, ToolContext(agent_id="amy"), since)
    shown = [message["index"] for message in seen["messages"]]
    left_out = seen.get("older_messages_left_out", 0)
    assert seen["next_index"] == len(texts)
    assert shown == list(range(len(texts) - len(shown), len(texts)))
    assert left_out + len(shown) == max(0, len(texts) - max(0, since))
    assert len(json_text(seen)) <= room or len(shown) <= 1
    assert bool(shown) == (max(0, since) < len(texts))
