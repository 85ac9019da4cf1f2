"""Reject inputs that scikit-learn would misread: masked arrays, lazy frames, dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import validation


def validate_data(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """Call :func:`check_kind`, then scikit-learn's function of the same name.

    Parameters
    ----------
    estimator : object
        Estimator whose data are validated.
    X, y : array-like
        Data; ``y`` is optional.
    how
        Options of scikit-learn's function.
    """
    check_kind(X, "X")
    for targets in y:
        check_kind(targets, "y")
    return validation.validate_data(estimator, X, *y, **how)


def check_kind(data: Any, name: str) -> None:
    """Raise a ValueError if the data would be misread, or not read at all."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise ValueError(
            f"{name} is a masked array, whose mask would be ignored: leave the rows "
            "with masked values out, or fill these, as SimpleImputer does."
        )
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and type(data).__name__ == "LazyFrame":
        raise ValueError(f"{name} is a polars LazyFrame: pass {name}.collect().")
    is_frame = library in ("pandas", "polars") and hasattr(data, "columns")
    if is_frame and not len(data.columns):
        raise ValueError(
            f"{name} is a frame of shape {data.shape}: at least one column is required."
        )
    _check_times(data, name, is_frame)


def _check_times(data: Any, name: str, is_frame: bool) -> None:
    """Raise a ValueError on dates and durations.

    Their numbers depend on the storage: the same day is one number in nanoseconds and
    another in microseconds.
    """
    if is_frame:
        dtypes = zip(data.columns, data.dtypes, strict=True)
        found = [repr(column) for column, dtype in dtypes if _is_time(dtype)]
        where = f"in the columns {', '.join(found)}"
    else:
        found = [""] if _is_time(getattr(data, "dtype", None)) else []
        where = f"({getattr(data, 'dtype', None)})"
    if found:
        raise ValueError(
            f"{name} holds dates or durations {where}: make numbers of them, such as "
            "days since a date."
        )


def _is_time(dtype: Any) -> bool:
    if hasattr(dtype, "is_temporal"):  # polars
        return bool(dtype.is_temporal())
    return getattr(dtype, "kind", "") in ("m", "M")
