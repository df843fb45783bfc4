"""Boards in the hands of a model: three tools that act as the agent that calls them."""

from typing import Annotated, Any

from tickmind.ai.boards import BoardManager
from tickmind.llm.tools import Tool, ToolContext

BoardId = Annotated[str, "Id of the board, as get_my_boards tells it"]
Since = Annotated[int, "Index to read from; next_index of the last reading gives only what is new"]
Words = Annotated[str, "What to say"]


def board_tools(manager: BoardManager) -> list[Tool]:
    """`read_board`, `post_message_to_board` and `get_my_boards`; the same list serves any number of agents."""

    def read_board(board_id: BoardId, ctx: ToolContext, since: Since = 0) -> dict[str, Any]:
        """Read the messages of a board that you take part in."""
        posts = manager.read(board_id, ctx.agent_id, since)
        return {
            "board_id": board_id,
            "messages": [{"index": post.index, "author": post.author, "text": post.text} for post in posts],
            "next_index": manager.info(board_id, ctx.agent_id).next_index if not posts else posts[-1].index + 1,
        }

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
    return [Tool.from_function(function, inline=True) for function in functions]
