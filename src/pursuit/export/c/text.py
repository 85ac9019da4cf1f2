"""Pieces of C: numbers, arrays, comments, and the constants of one header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Constants", "Number", "comment", "index_type", "joined_lines"]

_WIDTH = 78


@dataclass(frozen=True)
class Number:
    """A type of floating-point numbers in C.

    Attributes
    ----------
    word : {"float", "double"}
    """

    word: str

    @property
    def is_float(self) -> bool:
        """Whether numbers have single precision."""
        return self.word == "float"

    @property
    def n_bytes(self) -> int:
        """Bytes of a number."""
        return 4 if self.is_float else 8

    @property
    def unit(self) -> float:
        """Largest relative error of rounding."""
        return 2.0**-24 if self.is_float else 2.0**-53

    def literal(self, value: float) -> str:
        """Return a constant that is read as exactly this number, once rounded."""
        if np.isnan(value):
            return "NAN" if self.is_float else "(double)NAN"
        if np.isinf(value):
            sign = "-" if value < 0 else ""
            word = "INFINITY" if self.is_float else "(double)INFINITY"
            return sign + word
        if not self.is_float:
            text = repr(float(value))
        else:
            with np.errstate(over="raise", under="ignore"):
                text = str(np.float32(value))
        if not re.search(r"[.e]", text):
            text += ".0"
        return text + "f" if self.is_float else text

    def function(self, name: str) -> str:
        """Return the name of a function of libm for this type."""
        return name + "f" if self.is_float else name


@dataclass
class Constants:
    """Arrays of a header, each written once however often it is used."""

    name: str
    texts: list[str] = field(default_factory=list)
    n_bytes: int = 0
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def numbers(self, word: str, values: np.ndarray, number: Number) -> str:
        """Add floating-point constants; return the array's name."""
        literals = [number.literal(v) for v in np.ravel(values)]
        return self._add(word, number.word, number.n_bytes, literals)

    def integers(self, word: str, values: Iterable[int], kind: str) -> str:
        """Add whole numbers of a type such as "int16_t"; return the array's name."""
        bits = int(re.sub(r"\D", "", kind))
        literals = [_integer(int(v), bits) for v in values]
        return self._add(word, kind, bits // 8, literals)

    def indices(self, word: str, values: Sequence[int]) -> str:
        """Add whole numbers in the smallest type that holds them."""
        return self.integers(word, values, index_type(values))

    def _add(self, word: str, kind: str, size: int, literals: list[str]) -> str:
        key = (kind, ",".join(literals))
        if key not in self._names:
            count = self._counts[word] = self._counts.get(word, 0) + 1
            name = f"{self.name}_{word}" + (str(count) if count > 1 else "")
            self._names[key] = name
            self.n_bytes += size * len(literals)
            head = f"static const {kind} {name}[{len(literals)}] = {{"
            self.texts.append(f"{head}\n{joined_lines(literals)}\n}};\n")
        return self._names[key]


def index_type(values: Sequence[int]) -> str:
    """Return the smallest type of C for these whole numbers."""
    low, high = (min(values), max(values)) if len(values) else (0, 0)
    for bits in (8, 16, 32):
        if low >= 0 and high < 2**bits:
            return f"uint{bits}_t"
        if low >= -(2 ** (bits - 1)) and high < 2 ** (bits - 1):
            return f"int{bits}_t"
    return "int64_t"


def joined_lines(words: Sequence[str], indent: str = "    ") -> str:
    """Return words with commas in lines of a legible length."""
    lines, line = [], indent
    for place, word in enumerate(words):
        piece = word + ("," if place < len(words) - 1 else "")
        if len(line) + len(piece) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += piece + " "
    return "\n".join([*lines, line.rstrip()])


def comment(text: str) -> str:
    """Return a text that cannot end the comment it stands in, nor continue a line."""
    text = text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return "".join(c if c.isprintable() and c != "\\" else "?" for c in text)


def _integer(value: int, bits: int) -> str:
    if bits == 64:
        return f"INT64_C({value})"
    # -2147483648 is no literal of C: the minus is an operation on a number too large.
    return f"(-{2**31 - 1} - 1)" if value == -(2**31) else str(value)
