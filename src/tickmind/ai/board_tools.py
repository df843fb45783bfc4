"""Boards as tools: three tools for models that act as the agent that calls them."""

from typing import Annotated, Any

from tickmind.ai.boards import BoardManager, BoardView
from tickmind.base import Limit
from tickmind.tools import Tool, ToolContext
from tickmind.tools.plain import MAX_RESULT_CHARS, json_text

BoardId = Annotated[str, "Id of the board, as get_my_boards returns it"]
Since = Annotated[int, "Index to read from; next_index of the last reading gives only what is new"]
Words = Annotated[str, "What to say"]


def board_tools(manager: BoardManager, *, max_result_chars: Limit = MAX_RESULT_CHARS) -> list[Tool]:
    """Return `read_board`, `post_message_to_board` and `get_my_boards`; one list serves any number of agents.

    Of a board that is longer than `max_result_chars` the newest messages are returned, with the number of the others.
    """

    def read_board(board_id: BoardId, ctx: ToolContext, since: Since = 0) -> dict[str, Any]:
        """Read the newest messages of a board that you take part in."""
        return _reading(manager.view(board_id, ctx.agent_id, since), since, max_result_chars)

    def post_message_to_board(board_id: BoardId, text: Words, ctx: ToolContext) -> dict[str, Any]:
        """Post a message to a board, for all of its participants to read."""
        post = manager.post(board_id, ctx.agent_id, text)
        return {"board_id": board_id, "index": post.index}

    def get_my_boards(ctx: ToolContext) -> list[dict[str, Any]]:
        """List the boards that you take part in: their ids, who else takes part, and how many messages there were."""
        infos = [manager.info(board_id, ctx.agent_id) for board_id in manager.get_my_boards(ctx.agent_id)]
        return [
            {"board_id": info.board_id, "participants": list(info.participants), "next_index": info.next_index}
            for info in infos
        ]

    functions = (read_board, post_message_to_board, get_my_boards)
    return [Tool.from_function(function, inline=True, max_result_chars=max_result_chars) for function in functions]


def _reading(view: BoardView, since: int, limit: Limit) -> dict[str, Any]:
    """Return the newest posts that fit, oldest first. They stand last, so that a long one loses only its own end."""
    board_id, next_index = view.info.board_id, view.info.next_index
    chars = len(json_text(_as_read(board_id, next_index, next_index, [])))
    messages: list[dict[str, Any]] = []
    for post in reversed(view.posts):
        said = {"text": post.text} if post.data is None else dict(post.data)
        header = {"index": post.index, "author": post.author}
        message = {**header, **said, **header}  # data can't forge another author
        chars += len(json_text(message)) + 1  # and a comma
        if messages and not limit.allows(chars):
            break
        messages.append(message)
    left_out = next_index - len(messages) - max(0, since)
    return _as_read(board_id, next_index, left_out, messages[::-1])


def _as_read(board_id: str, next_index: int, left_out: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    older = {"older_messages_left_out": left_out} if left_out > 0 else {}
    return {"board_id": board_id, "next_index": next_index, **older, "messages": messages}
