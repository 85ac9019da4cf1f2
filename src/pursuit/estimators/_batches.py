"""What estimators share that take rows block by block."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from pursuit.batches import Rows, rows_of
from pursuit.trips import Checkpoint, LocalVisits, Visits
from pursuit.trips.blocks import points_of

# Parameters that do not change the model.
_WITHOUT_EFFECT = ("verbose", "n_jobs", "max_memory", "max_time")


def visits_of(
    model: Any, rows: Any, checkpoint: str | os.PathLike[str] | None
) -> Visits:
    """Return visits to rows of any kind, for a fit of a model."""
    if isinstance(rows, Visits):
        if checkpoint is not None:
            raise ValueError(
                f"checkpoint={os.fspath(checkpoint)!r} is for rows that are read "
                f"here, one block after the other: {type(rows).__name__} visits "
                "them by itself. Leave it out."
            )
        return rows
    source, kept = rows_of(rows), None
    if checkpoint is not None:
        kept = Checkpoint(checkpoint, _identity(model, source))
    return LocalVisits(source, model.verbose, kept)


def _identity(model: Any, source: Rows) -> str:
    """Return what a checkpoint belongs to: these rows and parameters."""
    values = sorted(model.get_params().items())
    shown = {
        name: _shown(value) for name, value in values if name not in _WITHOUT_EFFECT
    }
    return json.dumps([type(model).__name__, shown, source.fingerprint()])


def _shown(value: Any) -> str:
    """Return a text that is the same for equal values in another process."""
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state()
        return f"{state[2]} {_shown(state[1])}"
    if isinstance(value, np.ndarray):
        return blake2b(np.ascontiguousarray(value).tobytes()).hexdigest()
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def set_columns(model: Any, n_features: int, names: tuple[str, ...] | None) -> None:
    """Set the attributes that say which columns a fit has seen."""
    model.n_features_in_ = n_features
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def for_blocks(model: Any, names: tuple[str, ...] | None) -> Any:
    """Return the model for blocks, which have no names; raise if theirs are others."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        return model
    if names is not None and list(known) != list(names):
        raise ValueError(
            f"The columns of the rows are {', '.join(map(str, names))}, but the model "
            f"was fitted to {', '.join(map(str, known))}, in this order: name them by "
            "features=."
        )
    nameless = copy.copy(model)
    del nameless.feature_names_in_
    return nameless


def by_blocks(model: Any, rows: Any, method: str) -> Iterator[np.ndarray]:
    """Yield what a method of a fitted model returns for each block of rows."""
    source = rows_of(rows)
    call = getattr(for_blocks(model, source.feature_names), method)
    for block in source.blocks():
        if len(block):
            yield call(points_of(block, model.n_features_in_))
