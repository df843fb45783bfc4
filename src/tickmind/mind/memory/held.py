"""`HeldNumbers`: which entries a memory still has, short enough to be shown beside them."""

import base64
import re
from typing import NamedTuple, Self

_FORM = re.compile(r"(\d{1,9}):([A-Za-z0-9+/]*={0,2})")


class HeldNumbers(NamedTuple):
    """Which of the entries up to a number a memory still has; of later ones nothing is known.

    >>> HeldNumbers.read(HeldNumbers(9, frozenset({2, 9})).packed()).numbers == {2, 9}
    True
    """

    last: int  # the number that was given last
    numbers: frozenset[int]

    def lost(self, number: int) -> bool:
        """Return whether the memory has lost the entry of a number: it was merged with another, or forgotten."""
        return number <= self.last and number not in self.numbers

    def packed(self) -> str:
        """Return it as a short text: a bit for each number."""
        bits = sum(1 << number for number in self.numbers)
        return f"{self.last}:{base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, 'little')).decode()}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return what `packed` made a text of. Raises `ValueError` for any other."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise ValueError("not the numbers of a memory's entries")
        raw = base64.b64decode(form[2], validate=True)
        numbers = (8 * place + bit for place, byte in enumerate(raw) for bit in range(8) if byte >> bit & 1)
        return cls(int(form[1]), frozenset(numbers))
