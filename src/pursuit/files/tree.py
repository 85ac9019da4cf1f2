"""Objects as trees of JSON, and back, by lists of known types.

A tree has these nodes:

    null, true, 3, 0.5, "word", [...]          as they are
    {"float": "nan"}                           also "inf" and "-inf"
    {"array": 3}                               array 3 of the file
    {"tuple": [...]}                           a tuple
    {"map": [[key, value], ...]}               a dictionary with any keys
    {"type": "kernels.Gaussian", "gamma": 2.0} an object of a known type
    {"name": ..., "other": ...}                an object with other members: names

A `Record` says how one type is taken apart, and put together again from `Fields`, which
are checked one by one. A name of a file is looked up among the records; nothing is
imported by name, and what is not a record's is refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any

import numpy as np

__all__ = ["Fields", "Names", "Reader", "Record", "RefusalError", "Writer"]

_SPECIAL = ("float", "array", "tuple", "map", "type")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_STORED = {"f8": "<f8", "f4": "<f4", "i8": "<i8", "i4": "<i4", "u1": "|u1", "b1": "|b1"}


class Names(dict[str, Any]):
    """A dictionary whose keys are names of the library's own, such as parameters."""


@dataclass(frozen=True, eq=False)
class Record:
    """How objects of one type are written and read.

    Attributes
    ----------
    name : str
        Name of the type in files, which stays the same for ever.
    kind : type
        Objects of exactly this type; subclasses may do something else.
    take : callable
        ``take(value)`` returns the fields to write, a dictionary.
    make : callable
        ``make(fields)`` checks `Fields` and returns the object.
    """

    name: str
    kind: type
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[[Fields], Any]


class RefusalError(Exception):
    """Why an object cannot be saved; the writer adds where it is."""


def _refused(where: str, what: str) -> ValueError:
    return ValueError(
        f"{where} cannot be saved: {what}. A model file holds numbers and words, never "
        "code. The page 'Model files' lists the parts of pursuit and scikit-learn that "
        "can be saved (of a search, save best_estimator_). Use one of these, or save "
        "the model with joblib.dump, which must find the same code when it is loaded."
    )


# -- write -------------------------------------------------------------------------


class Writer:
    """Turn objects into trees, and collect their arrays.

    Parameters
    ----------
    record_of : callable
        ``record_of(type)`` returns the record of a type, None if there is none.
    """

    def __init__(self, record_of: Callable[[type], Record | None]) -> None:
        self.arrays: list[np.ndarray] = []
        self._record_of = record_of
        self._numbers: dict[tuple[Any, ...], int] = {}

    def tree(self, value: Any, where: str) -> Any:
        """Return the tree of a value; ``where`` names it in errors."""
        if value is None or isinstance(value, bool | np.bool_):
            return None if value is None else bool(value)
        if isinstance(value, int | np.integer):
            return int(value)
        if isinstance(value, float | np.floating):
            return self._number(float(value))
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Names):
            return self._names(value, where)
        if type(value) in (list, tuple):
            items = [self.tree(v, f"{where}[{i}]") for i, v in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            pairs = value.items()
            tree = [
                [self.tree(k, f"a key of {where}"), self.tree(v, f"{where}[{k!r}]")]
                for k, v in pairs
            ]
            return {"map": tree}
        if type(value) is np.ndarray and value.dtype.str[1:] in _STORED:
            return {"array": self.array(value)}
        return self._object(value, where)

    def _number(self, value: float) -> Any:
        if math.isfinite(value):
            return value
        return {"float": "nan" if math.isnan(value) else str(value)}

    def _names(self, value: Names, where: str) -> dict[str, Any]:
        assert not any(key in _SPECIAL for key in value), value
        return {key: self.tree(v, f"{where}.{key}") for key, v in value.items()}

    def array(self, array: np.ndarray) -> int:
        """Return the number of an array, added unless an equal one is there."""
        stored = np.ascontiguousarray(array, _STORED[array.dtype.str[1:]])
        array = stored.reshape(array.shape)  # a number has become a row of one
        content = array.reshape(-1).data if array.size else b""
        key = (array.dtype.str, array.shape, hashlib.sha256(content).digest())
        if key not in self._numbers:
            self._numbers[key] = len(self.arrays)
            self.arrays.append(array)
        return self._numbers[key]

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        record = self._record_of(type(value))
        if record is None:
            raise _refused(where, _told(value))
        try:
            fields = record.take(value)
        except RefusalError as why:
            raise _refused(where, str(why)) from None
        parts = {key: self.tree(v, f"{where}.{key}") for key, v in fields.items()}
        return {"type": record.name, **parts}


def _told(value: Any) -> str:
    """Return what a value is, in words."""
    kind = type(value)
    name = getattr(value, "__name__", None)
    if isinstance(value, type):
        return f"it is the class {name}"
    if hasattr(value, "best_estimator_"):
        return f"it is a search, {kind.__name__}: save its best_estimator_"
    if callable(value) and name is not None:
        return f"it is the function {name!r}"
    if isinstance(value, np.ndarray):
        return f"it is an array of {value.dtype}"
    return f"it is a {kind.__module__.partition('.')[0]} object, {kind.__qualname__}"


# -- read --------------------------------------------------------------------------


class Reader:
    """Turn trees into objects.

    Parameters
    ----------
    arrays : sequence of ndarray
    record_named : callable
        ``record_named(name)`` returns the record of a name, None if there is none.
    """

    def __init__(
        self,
        arrays: Sequence[np.ndarray],
        record_named: Callable[[str], Record | None],
    ) -> None:
        self._arrays = arrays
        self._record_named = record_named

    def value(self, tree: Any) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        special = [key for key in _SPECIAL if key in tree]
        if not special:
            return Names({key: self.value(v) for key, v in tree.items()})
        key = special[-1]
        if key == "type":
            return self._object(tree)
        if len(tree) > 1:
            raise ValueError(f"A node {key!r} has other members.")
        return getattr(self, f"_{key}")(tree[key])

    def _float(self, word: Any) -> float:
        if not isinstance(word, str) or word not in _NOT_FINITE:
            raise ValueError(f"{word!r:.30} is not 'nan', 'inf' or '-inf'.")
        return _NOT_FINITE[word]

    def _array(self, number: Any) -> np.ndarray:
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        if not is_whole or not 0 <= number < len(self._arrays):
            raise ValueError(f"There is no array {number!r:.30}.")
        return self._arrays[number]

    def _tuple(self, items: Any) -> tuple[Any, ...]:
        return tuple(self.value(_listed(items)))

    def _map(self, pairs: Any) -> dict[Any, Any]:
        value = {}
        for pair in self.value(_listed(pairs)):
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError("A map needs pairs of a key and a value.")
            key, item = pair
            if key is not None and not isinstance(key, str | int | float):
                raise ValueError("A key of a map must be a number or a word.")
            value[key] = item
        if len(value) < len(pairs):
            raise ValueError("A map names a key twice.")
        return value

    def _object(self, tree: dict[str, Any]) -> Any:
        name = tree["type"]
        record = self._record_named(name) if isinstance(name, str) else None
        if record is None:
            raise ValueError(
                f"The file holds a part of the type {name!r:.60}, which this pursuit "
                "does not know: a newer one may."
            )
        values = {key: self.value(v) for key, v in tree.items() if key != "type"}
        fields = Fields(name, values)
        made = record.make(fields)
        fields.check_all_used()
        return made


def _listed(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise ValueError(f"{items!r:.30} must be a list.")
    return items


class Fields:
    """Fields of an object that is read, taken out one by one and checked.

    Lengths of arrays are letters, such as ``fields.array("points", "f", "M", "d")``:
    the first array sets a letter, others must agree. `sizes` holds them.
    """

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        self.name = name
        self.sizes: dict[str, int] = {}
        self._values = values
        self._used: set[str] = set()

    def error(self, key: str, what: str) -> ValueError:
        """Return the error that a field is wrong."""
        return ValueError(f"{key} of {self.name} {what}.")

    def check_all_used(self) -> None:
        """Raise a ValueError if there are fields that nobody asked for."""
        rest = sorted(set(self._values) - self._used)
        if rest:
            raise ValueError(f"{self.name} has unknown fields: {', '.join(rest)[:80]}.")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def any(self, key: str) -> Any:
        """Return a field as it is."""
        self._used.add(key)
        if key not in self._values:
            raise ValueError(f"{self.name} lacks {key}.")
        return self._values[key]

    def has(self, key: str) -> bool:
        """Return whether a field is there and not null."""
        self._used.add(key)
        return self._values.get(key) is not None

    def names(self, key: str) -> dict[str, Any]:
        """Return a field of named values."""
        value = self.any(key)
        if not isinstance(value, Names):
            raise self.error(key, "must be an object with names")
        return dict(value)

    def only(self, key: str, *kinds: type, optional: bool = False) -> Any:
        """Return an object of one of these types."""
        value = self.any(key)
        if value is None and optional:
            return None
        if not isinstance(value, kinds):
            listed = " or ".join(kind.__name__ for kind in kinds)
            raise self.error(key, f"must be {listed}, not {type(value).__name__}")
        return value

    def flag(self, key: str) -> bool:
        """Return True or False."""
        return bool(self.only(key, bool))

    def text(self, key: str, optional: bool = False) -> str | None:
        """Return a word or sentence."""
        value: str | None = self.only(key, str, optional=optional)
        return value

    def word(self, key: str, *choices: Any) -> Any:
        """Return one of these words."""
        value = self.any(key)
        is_plain = value is None or isinstance(value, str)
        if not is_plain or value not in choices:
            raise self.error(key, f"must be one of {choices}, not {value!r:.30}")
        return value

    def whole(
        self, key: str, least: int = 0, most: float = 1 << 53, optional: bool = False
    ) -> Any:
        """Return a whole number in a range."""
        value = self.any(key)
        if value is None and optional:
            return None
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not least <= value <= most:
            raise self.error(
                key, f"must be a whole number from {least} to {most}, not {value!r:.30}"
            )
        return value

    def number(
        self,
        key: str,
        above: float = -math.inf,
        least: float = -math.inf,
        most: float = math.inf,
        finite: bool = True,
        optional: bool = False,
    ) -> Any:
        """Return a number in a range."""
        value = self.any(key)
        if value is None and optional:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (finite and not abs(value) <= float_info.max):
            raise self.error(key, f"must be a finite number, not {value!r:.30}")
        if finite and not (above < value and least <= value <= most):
            raise self.error(key, f"is out of range: {value!r:.30}")
        return float(value)

    def words(self, key: str, length: str | None = None) -> list[str]:
        """Return a list of words, of a length that a letter says."""
        value = self.only(key, list, tuple)
        if not all(isinstance(item, str) for item in value):
            raise self.error(key, "must be a list of words")
        if length is not None:
            self.agree(key, length, len(value))
        return list(value)

    def all_of(self, key: str, *kinds: type) -> list[Any]:
        """Return a list of objects of these types."""
        value = self.only(key, list, tuple)
        if not all(isinstance(item, kinds) for item in value):
            listed = " or ".join(kind.__name__ for kind in kinds)
            raise self.error(key, f"must be a list of {listed}")
        return list(value)

    def array(
        self,
        key: str,
        kinds: str,
        *shape: str | int,
        finite: bool = True,
        least: float | None = None,
        above: float | None = None,
        below: float | None = None,
        optional: bool = False,
        keep: bool = False,
    ) -> Any:
        """Return an array of certain kinds ("f", "i", "b"), a shape and a range.

        As float64 or int64, unless its type is to be kept.
        """
        value = self.any(key)
        if value is None and optional:
            return None
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise self.error(key, f"must be an array of the kind {kinds!r}")
        if value.ndim != len(shape):
            raise self.error(key, f"must have {len(shape)} axes, not {value.ndim}")
        for letter, length in zip(shape, value.shape, strict=True):
            self.agree(key, letter, length)
        self.check_range(key, value, finite, least, above, below)
        wide = {"f": np.float64, "i": np.int64}.get(value.dtype.kind)
        return value if keep or wide is None else value.astype(wide, copy=False)

    def check_range(
        self,
        key: str,
        value: np.ndarray,
        finite: bool = True,
        least: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ) -> None:
        """Raise a ValueError if an array has numbers out of a range."""
        if finite and not np.isfinite(value).all():
            raise self.error(key, "holds NaN or inf")
        is_low = least is not None and not (value >= least).all()
        is_low |= above is not None and not (value > above).all()
        is_high = below is not None and not (value < below).all()
        if is_low or is_high:
            raise self.error(key, "holds numbers out of range")

    def agree(self, key: str, letter: str | int, length: int) -> None:
        """Raise a ValueError unless a length is what its letter stands for."""
        wanted = (
            self.sizes.setdefault(letter, length) if isinstance(letter, str) else letter
        )
        if length != wanted:
            raise self.error(key, f"has a length of {length} where {wanted} is needed")
