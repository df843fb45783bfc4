"""`Secret`: a value that can't be shown by accident, and the redaction of logs, errors and recordings."""

import re
import threading
from collections.abc import Mapping
from typing import Any

from tickmind.base.limits import Limit

MASK = "***"
MAX_KNOWN_SECRETS = Limit("number of remembered secrets", 1024)
_SHORTEST_MASKED = 6  # shorter values would mask ordinary words
_DEEPEST_FIELD = 8

_lock = threading.Lock()
_known: dict[str, None] = {}  # secret value -> None, oldest first
_lasting: dict[str, None] = {}  # secret value -> None, never forgotten

_SECRET_NAME = re.compile(
    r"(?:^|[_\-.])(?:api[_\-]?key|authorization|cookie|credential|passw(?:or)?d|private[_\-]?key|secret|token)s?$",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[\w\-.~+/=]{6,}", re.IGNORECASE)
_NAMED_VALUE = re.compile(
    r"(?P<keep>(?:api[_\-]?key|authorization|passw(?:or)?d|secret|(?<!max_)token)[\"']?\s*[:=]\s*[\"']?)"
    r"(?!bearer\b|basic\b)[^\s\"'&,;}\])]{6,}",
    re.IGNORECASE,
)
_PREFIXED_KEY = re.compile(r"(?P<keep>\b(?:sk|pk|gsk|csk|rk|xai|ghp|hf|AIza)[\-_])[A-Za-z0-9_\-]{6,}")
_URL_USER = re.compile(r"(?P<keep>://)[^/\s:@]+:[^/\s@]+(?=@)")

# Words that a text must hold before a shape can match; words are much cheaper to find than shapes.
_CREDENTIAL_WORDS = ("bearer", "basic")
_NAMES = ("key", "authorization", "passw", "secret", "token")
_NAME_AND_MARK = re.compile(r"(?:key|authorization|passwo?r?d|secret|token)[\"']?\s*[:=]")  # of the text in lower case
_KEY_PREFIXES = tuple(f"{end}{mark}" for end in ("k", "xai", "ghp", "hf", "AIza") for mark in "-_")
_ODD_LETTERS = ("\u0130", "\u0131", "\u017f", "\u212a")  # match i, s or k where case is ignored, but lower() keeps them


class Secret:
    """A password or key: it prints as `***`, and `redact` masks its value from then on.

        >>> str(Secret("correct horse"))
        '***'

    Only `reveal()` returns the value; call it where it is put on the wire, nowhere else. A `lasting` secret is
    remembered for good, however many come after it: for a server's own keys beside those that callers bring.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str, *, lasting: bool = False) -> None:
        self._value = value
        _remember(value, lasting=lasting)

    def reveal(self) -> str:
        """Return the value itself."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return f"Secret({MASK if self._value else ''!r})"

    def __str__(self) -> str:
        return MASK if self._value else ""

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Secret can't be pickled or copied into other processes; pass it by file descriptor")


def _remember(value: str, *, lasting: bool) -> None:
    if len(value) < _SHORTEST_MASKED:
        return
    with _lock:
        if lasting:
            _lasting[value] = None
        if value in _lasting:
            return
        _known.pop(value, None)
        _known[value] = None
        if not MAX_KNOWN_SECRETS.allows(len(_known)):
            del _known[next(iter(_known))]


def mask_known(text: str) -> str:
    """Mask every known secret and nothing else: for texts of models and people, where a password may be fiction."""
    for value in (*_lasting, *_known):
        if value in text:
            text = text.replace(value, MASK)
    return text


def redact(text: str) -> str:
    """Mask every known secret and everything that has the shape of one."""
    text = mask_known(text)
    lower = text.lower()
    odd = not text.isascii() and any(letter in text for letter in _ODD_LETTERS)
    if odd or any(word in lower for word in _CREDENTIAL_WORDS):
        text = _CREDENTIALS.sub(_keep_and_mask, text)
    if odd or (any(name in lower for name in _NAMES) and _NAME_AND_MARK.search(lower)):
        text = _NAMED_VALUE.sub(_keep_and_mask, text)
    if any(prefix in text for prefix in _KEY_PREFIXES):
        text = _PREFIXED_KEY.sub(_keep_and_mask, text)
    if "://" in text and "@" in text:
        text = _URL_USER.sub(_keep_and_mask, text)
    return text


def _keep_and_mask(match: re.Match[str]) -> str:
    return match["keep"] + MASK


def is_secret_name(name: str) -> bool:
    """Return whether a setting, variable or field of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the values of a log event or an error's details, by name and by content, nested ones included."""
    return {name: _redact_field(name, value, 0) for name, value in fields.items()}


def _redact_field(name: str, value: Any, depth: int) -> Any:
    if is_secret_name(name) and not isinstance(value, (bool, int, float, type(None))):
        return MASK
    return _redact_value(value, depth)


def _redact_value(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth > _DEEPEST_FIELD:
        return "..."
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): _redact_field(str(name), item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_redact_value(item, depth + 1) for item in value]
    return redact(repr(value))
