"""Number ranges as grammar expressions, digit by digit, for grammars without arithmetic."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def whole_numbers(first: int, last: int) -> str:
    """Return a grammar expression for exactly the whole numbers from first to last, without leading zeros."""
    if first > last:
        raise ValueError(f"no whole number is between {first} and {last}")
    choices: list[str] = []
    if first < 0:
        choices += [f'"-" {body}' for body in _unsigned(max(1, -last), -first)]
    if last >= 0:
        choices += _unsigned(max(0, first), last)
    return " | ".join(choices)


def decimals(low: Decimal, high: Decimal, digits: int) -> str:
    """Return a grammar expression for numbers from low to high with at most so many digits after the point."""
    step = Decimal(1).scaleb(-digits)
    low, high = low.quantize(step, ROUND_CEILING), high.quantize(step, ROUND_FLOOR)
    if low > high:
        raise ValueError(f"no number with {digits} digits after the point is between {low} and {high}")
    choices: list[str] = []
    if high >= 0:
        choices += _unsigned_decimals(max(low, Decimal(0)), high, digits)
    if low < 0:
        choices += [f'"-" {body}' for body in _unsigned_decimals(max(-high, step), -low, digits)]
    return " | ".join(choices)


def _unsigned_decimals(low: Decimal, high: Decimal, digits: int) -> list[str]:
    """Return what the first and the last whole number may be followed by, and any fraction between them."""
    first, after_first = _split(low)
    last, after_last = _split(high)
    choices: list[str] = []
    if first == last:
        width = max(len(after_first), len(after_last))
        if not after_first:
            choices.append(f'"{first}"')
        if width:
            tails = _same_width(after_first.ljust(width, "0"), after_last.ljust(width, "0"))
            choices += [f'"{first}." {tail}' for tail in tails]
        return choices
    if after_first:
        choices += [f'"{first}." {tail}' for tail in _same_width(after_first, "9" * len(after_first))]
        first += 1
    if first < last:
        choices.append(f'({whole_numbers(first, last - 1)}) ("." [0-9]{{1,{digits}}})?')
    choices.append(f'"{last}"')
    if after_last:
        choices += [f'"{last}." {tail}' for tail in _same_width("0" * len(after_last), after_last)]
    return choices


def _split(value: Decimal) -> tuple[int, str]:
    whole, _, after = f"{value:f}".partition(".")
    return int(whole), after.rstrip("0")


def _unsigned(first: int, last: int) -> list[str]:
    """Return one choice for each number of digits."""
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
