"""What a model file says about the table of its fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pursuit.tables import PLAIN, Field, Kind, Notation, Split, Usual

from ._measures import Measured

__all__ = ["Facts", "Recipe"]


@dataclass(frozen=True)
class Facts:
    """What is known about a fit, for people.

    Attributes
    ----------
    task : {"classification", "regression"}
    n_rows : int
        Number of rows with a target in the table.
    n_drawn, n_fitted : int
        Numbers of those that were drawn, and fitted before the error was measured.
    is_refitted : bool
        Whether all rows that were drawn were fitted afterwards.
    measured : Measured, optional
        Error on rows held out.
    importances : tuple of (str, float)
        Columns by how much the model goes by them.
    """

    task: str
    n_rows: int
    n_drawn: int
    n_fitted: int
    is_refitted: bool
    measured: Measured | None
    importances: tuple[tuple[str, float], ...]

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> Facts:
        """Return the facts that JSON tells."""
        measured = told["measured"]
        return cls(
            str(told["task"]),
            int(told["n_rows"]),
            int(told["n_drawn"]),
            int(told["n_fitted"]),
            bool(told["is_refitted"]),
            None if measured is None else Measured.of_dict(measured),
            tuple((str(name), float(share)) for name, share in told["importances"]),
        )


@dataclass(frozen=True)
class Recipe:
    """How the rows of a model's table are read.

    Attributes
    ----------
    fields : tuple of Field
        Columns that the model takes, in order; empty if it does not say which.
    target : Field, optional
        Column that it predicts.
    words : dict from str to list of str
        Words of the categories that the model knows.
    split : Split, optional
        Which rows were held out.
    fingerprint : str
        Tells the table of the fit from others.
    facts : Facts, optional
        What is known about the fit.
    notation : Notation
        How numbers and dates are written.
    usual : Usual
        What was said about the file of the fit.
    """

    fields: tuple[Field, ...]
    target: Field | None = None
    words: dict[str, list[str]] = field(default_factory=dict)
    split: Split | None = None
    fingerprint: str = ""
    facts: Facts | None = None
    notation: Notation = PLAIN
    usual: Usual = field(default_factory=Usual)

    @property
    def names(self) -> list[str]:
        """Names of the columns that the model takes."""
        return [f.name for f in self.fields]

    @property
    def target_name(self) -> str:
        """Name of the target, empty if it is not known."""
        return "" if self.target is None else self.target.name

    def as_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        return {
            "columns": [_as_dict(f) for f in self.fields],
            "target": None if self.target is None else _as_dict(self.target),
            "words": self.words,
            "split": None if self.split is None else asdict(self.split),
            "fingerprint": self.fingerprint,
            "facts": None if self.facts is None else asdict(self.facts),
            "written": {**asdict(self.notation), **asdict(self.usual)},
        }

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> Recipe:
        """Return the recipe that JSON tells."""
        target, split, facts = (told[name] for name in ("target", "split", "facts"))
        return cls(
            tuple(_field(column) for column in told["columns"]),
            None if target is None else _field(target),
            {str(name): list(map(str, words)) for name, words in told["words"].items()},
            None if split is None else Split.of_dict(split),
            str(told["fingerprint"]),
            None if facts is None else Facts.of_dict(facts),
            *_written(told.get("written")),  # absent in the first files
        )


def _written(told: dict[str, str] | None) -> tuple[Notation, Usual]:
    if told is None:
        return PLAIN, Usual()
    texts = {name: str(text) for name, text in told.items()}
    return (
        Notation(texts["decimal"], texts["thousands"], texts["dates"]),
        Usual(texts["delimiter"], texts["encoding"]),
    )


def _as_dict(column: Field) -> dict[str, str]:
    return {"name": column.name, "kind": str(column.kind)}


def _field(told: dict[str, str]) -> Field:
    return Field(str(told["name"]), Kind(told["kind"]))
