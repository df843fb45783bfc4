"""Boards: posts that several agents share. Only the participants of a board can read it or write to it.

BoardError
└── BoardAccessError       the caller is not a participant
    └── UnknownBoardError  there is no such board; only its type says so
"""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tickmind.ai.errors import AIError
from tickmind.base import ConfigError, Limit

MAX_BOARDS = Limit("number of boards", 1_024)
MAX_PARTICIPANTS = Limit("participants of a board", 64)
MAX_POSTS_KEPT = Limit("posts kept on a board", 256)
MAX_POST_CHARS = Limit("length of a post", 4_000, "characters")
MAX_NAME_CHARS = Limit("length of a participant's name", 128, "characters")

_VERSION = 1


class BoardError(AIError):
    """A board can't be used that way."""


class BoardAccessError(BoardError):
    """The caller is not a participant of that board."""


class UnknownBoardError(BoardAccessError):
    """There is no such board."""


@dataclass(frozen=True, slots=True)
class Post:
    """A message on a board. Indices start at 0 and only grow, also when old posts are dropped.

    `data` is the whole message where a mapping was posted; `text` is its `text`, or all of it as JSON.
    """

    index: int
    author: str
    text: str
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BoardInfo:
    """A board as its participants see it: the participants and which posts are kept."""

    board_id: str
    participants: tuple[str, ...]
    first_index: int  # of the oldest post that is kept
    next_index: int  # of the next post; read(since=...) it to get only new ones


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board and posts of it at one moment, so that no post is counted that was not shown."""

    info: BoardInfo
    posts: tuple[Post, ...]  # oldest first


@dataclass(slots=True)
class _Board:
    board_id: str
    participants: tuple[str, ...]  # sorted
    next_index: int = 0
    posts: deque[Post] = field(default_factory=deque)

    def info(self) -> BoardInfo:
        return BoardInfo(self.board_id, self.participants, self.next_index - len(self.posts), self.next_index)

    def since(self, index: int) -> tuple[Post, ...]:
        return tuple(post for post in self.posts if post.index >= index)


class BoardManager:
    """All boards of a world. Threads may share it, and no method waits.

    >>> boards = BoardManager()
    >>> board_id = boards.ensure_board(["anna", "bram"])
    >>> _ = boards.post(board_id, "anna", "The bridge is out.")
    >>> [(post.author, post.text) for post in boards.read(board_id, "bram")]
    [('anna', 'The bridge is out.')]
    """

    def __init__(
        self,
        *,
        max_boards: Limit = MAX_BOARDS,
        max_participants: Limit = MAX_PARTICIPANTS,
        max_posts_kept: Limit = MAX_POSTS_KEPT,
        max_post_chars: Limit = MAX_POST_CHARS,
    ) -> None:
        self._max_boards = max_boards
        self._max_participants = max_participants
        self._max_posts_kept = max_posts_kept
        self._max_post_chars = max_post_chars
        self._lock = threading.Lock()
        self._boards: dict[str, _Board] = {}  # board id -> board
        self._by_participants: dict[tuple[str, ...], str] = {}  # sorted participants -> board id
        self._by_agent: dict[str, list[str]] = {}  # participant -> board ids, oldest first

    def ensure_board(self, participants: Iterable[str]) -> str:
        """Return the board of exactly these participants, in any order; made if there is none yet.

        Raises `ConfigError` if there is no participant, or one has no name.
        """
        if isinstance(participants, str):
            raise ConfigError(f"participants must be a list of names, such as [{participants!r}, ...], not one string")
        names = tuple(sorted(set(participants)))
        if not names or not all(names):
            raise ConfigError("a board needs at least one participant, each with a name")
        self._max_participants.check(len(names))
        for name in names:
            MAX_NAME_CHARS.check(len(name))
        with self._lock:
            known = self._by_participants.get(names)
            if known is not None:
                return known
            self._max_boards.check(len(self._boards) + 1)
            number = len(self._boards) + 1
            while f"board-{number}" in self._boards:  # a restored one may have any name
                number += 1
            board = _Board(f"board-{number}", names)
            self._add(board)
            return board.board_id

    def post(self, board_id: str, author: str, message: str | Mapping[str, Any]) -> Post:
        """Write a text, or a mapping of JSON data, to a board; the oldest post makes room if it is full.

        Raises `BoardError` for a message that is empty or no JSON data, and `BoardAccessError` if the author is no
        participant of the board.
        """
        text, data, size = _read_message(message)
        if not text.strip():
            raise BoardError("a post must not be empty")
        self._max_post_chars.check(size)
        with self._lock:
            board = self._board_for(board_id, author)
            made = Post(board.next_index, author, text, data)
            board.next_index += 1
            board.posts.append(made)
            while not self._max_posts_kept.allows(len(board.posts)):
                board.posts.popleft()
            return made

    def read(self, board_id: str, reader: str, since: int = 0) -> tuple[Post, ...]:
        """Return the kept posts from an index on, oldest first."""
        with self._lock:
            return self._board_for(board_id, reader).since(since)

    def info(self, board_id: str, reader: str) -> BoardInfo:
        """Return the participants of a board, and which posts are kept."""
        with self._lock:
            return self._board_for(board_id, reader).info()

    def view(self, board_id: str, reader: str, since: int = 0) -> BoardView:
        """Return the results of `info` and `read` at one moment: no post can come in between."""
        with self._lock:
            board = self._board_for(board_id, reader)
            return BoardView(board.info(), board.since(since))

    def get_my_boards(self, agent_id: str) -> tuple[str, ...]:
        """Return the boards of an agent, oldest first."""
        with self._lock:
            return tuple(self._by_agent.get(agent_id, ()))

    def snapshot(self) -> dict[str, Any]:
        """Return all boards as plain JSON data."""
        with self._lock:
            return {
                "version": _VERSION,
                "boards": [
                    {
                        "board_id": board.board_id,
                        "participants": list(board.participants),
                        "next_index": board.next_index,
                        "posts": [asdict(post) for post in board.posts],
                    }
                    for board in self._boards.values()
                ],
            }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Replace all boards by those of a snapshot; nothing is changed if it can't be read."""
        boards = _boards_from(snapshot)
        self._max_boards.check(len(boards))
        with self._lock:
            self._boards.clear()
            self._by_participants.clear()
            self._by_agent.clear()
            for board in boards:
                while not self._max_posts_kept.allows(len(board.posts)):
                    board.posts.popleft()
                self._add(board)

    def _add(self, board: _Board) -> None:
        self._boards[board.board_id] = board
        self._by_participants[board.participants] = board.board_id
        for name in board.participants:
            self._by_agent.setdefault(name, []).append(board.board_id)

    def _board_for(self, board_id: str, agent_id: str) -> _Board:
        board = self._boards.get(board_id)
        if board is not None and agent_id in board.participants:
            return board
        mine = ", ".join(self._by_agent.get(agent_id, ())) or "none"
        words = f"{agent_id!r} takes no part in a board {board_id!r}; the boards of {agent_id!r}: {mine}"
        raise UnknownBoardError(words) if board is None else BoardAccessError(words)


def _read_message(message: str | Mapping[str, Any]) -> tuple[str, dict[str, Any] | None, int]:
    """Return the text of a message, a private copy of its data, and its size."""
    if isinstance(message, str):
        return message, None, len(message)
    import orjson

    try:
        encoded = orjson.dumps(dict(message))
    except (orjson.JSONEncodeError, TypeError) as error:
        raise BoardError(f"a post must be a text or a mapping of JSON data ({error})") from error
    data: dict[str, Any] = orjson.loads(encoded)
    text = data.get("text")
    return (text if isinstance(text, str) else encoded.decode() if data else ""), data, len(encoded)


def _data_of(post: Mapping[str, Any]) -> dict[str, Any] | None:
    data = post.get("data")
    return None if data is None else dict(data)


def _boards_from(snapshot: Mapping[str, Any]) -> list[_Board]:
    try:
        if snapshot["version"] != _VERSION:
            raise ConfigError(f"this snapshot of boards has version {snapshot['version']!r}; {_VERSION} can be read")
        return [
            _Board(
                str(plain["board_id"]),
                tuple(sorted(map(str, plain["participants"]))),
                int(plain["next_index"]),
                deque(
                    Post(int(post["index"]), str(post["author"]), str(post["text"]), _data_of(post))
                    for post in plain["posts"]
                ),
            )
            for plain in snapshot["boards"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"this is not a snapshot of boards ({type(error).__name__}: {error})") from error
