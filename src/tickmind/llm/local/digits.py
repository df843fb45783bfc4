"""Ranges of whole numbers, digit by digit, for grammars that know no arithmetic."""


def whole_numbers(first: int, last: int) -> str:
    """A grammar expression for exactly the whole numbers from first to last, without leading zeros."""
    if first > last:
        raise ValueError(f"no whole number is between {first} and {last}")
    choices: list[str] = []
    if first < 0:
        choices += [f'"-" {body}' for body in _unsigned(max(1, -last), -first)]
    if last >= 0:
        choices += _unsigned(max(0, first), last)
    return " | ".join(choices)


def _unsigned(first: int, last: int) -> list[str]:
    """One choice for each number of digits."""
    choices = []
    for width in range(len(str(first)), len(str(last)) + 1):
        low = max(first, 10 ** (width - 1) if width > 1 else 0)
        high = min(last, 10**width - 1)
        choices += _same_width(str(low), str(high))
    return choices


def _same_width(low: str, high: str) -> list[str]:
    if not low:
        return [""]
    rest = len(low) - 1
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        return [_join(_digit(low[0], high[0]), f"[0-9]{{{rest}}}" if rest else "")]
    if low[0] == high[0]:
        return [_join(f'"{low[0]}"', tail) for tail in _same_width(low[1:], high[1:])]
    choices = [_join(f'"{low[0]}"', tail) for tail in _same_width(low[1:], "9" * rest)]
    if int(low[0]) + 1 < int(high[0]):
        middle = _digit(str(int(low[0]) + 1), str(int(high[0]) - 1))
        choices.append(_join(middle, f"[0-9]{{{rest}}}"))
    return choices + [_join(f'"{high[0]}"', tail) for tail in _same_width("0" * rest, high[1:])]


def _digit(low: str, high: str) -> str:
    return f'"{low}"' if low == high else f"[{low}-{high}]"


def _join(*pieces: str) -> str:
    return " ".join(piece for piece in pieces if piece)
