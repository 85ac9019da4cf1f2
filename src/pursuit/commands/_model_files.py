"""Models in files, with what commands must know about their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pursuit._user_errors import CommandError
from pursuit.tables import Field, Kind

from ._recipes import Recipe
from ._translations import in_command_words

__all__ = ["load", "save"]

# Where a file says how its table is read.
TABLE = "table"


def save(model: Any, path: Path, recipe: Recipe) -> None:
    """Write a model and its recipe into a file, which `pursuit.load` reads too."""
    from pursuit.files import container, dumps

    contents = container.unpack(dumps(model))
    about = {**contents.about, TABLE: recipe.as_dict()}
    content = container.pack(contents.model, contents.formula, about, contents.arrays)
    container.write(path, content)


def load(path: Path) -> tuple[Any, Recipe]:
    """Return the model in a file, and its recipe."""
    from pursuit.files import container, loads

    try:
        content = path.read_bytes()
        model, about = loads(content), container.unpack(content).about
    except ValueError as error:
        raise CommandError(f"{path}: {in_command_words(error)}") from None
    return model, _recipe(model, about, path)


def _recipe(model: Any, about: dict[str, Any], path: Path) -> Recipe:
    """Return the recipe of a file, or one for a model that was saved from Python."""
    if TABLE in about:
        try:
            return Recipe.of_dict(about[TABLE])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise CommandError(
                f"{path}: what the file says about the columns is not readable"
            ) from None
    from pursuit.export import UnsupportedError, formula_of

    try:
        inputs: Sequence[Any] = formula_of(model).inputs
    except (UnsupportedError, AttributeError, TypeError):
        return Recipe(())
    kinds = [Kind.CATEGORY if i.categories else Kind.NUMBER for i in inputs]
    fields = tuple(Field(i.name, k) for i, k in zip(inputs, kinds, strict=True))
    words = {i.name: list(i.categories) for i in inputs if i.categories}
    return Recipe(fields, words=words)
