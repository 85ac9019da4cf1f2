"""What is asked of X and y before scikit-learn's own checks, which let it pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import validation


def validate_data(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """Return what scikit-learn's function of this name does, after :func:`check_kind`.

    Parameters
    ----------
    estimator : object
        Whose data these are.
    X, y : array-like
        ``y`` where there is one.
    how
        As in scikit-learn.
    """
    check_kind(X, "X")
    for targets in y:
        check_kind(targets, "y")
    return validation.validate_data(estimator, X, *y, **how)


def check_kind(data: Any, name: str) -> None:
    """Raise a ValueError on what would be misread, or not read at all."""
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
    """Raise a ValueError on dates and durations, whose numbers hang on their storage.

    The same day is one number in nanoseconds and another in microseconds.
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
    if hasattr(dtype, "is_temporal"):  # of polars
        return bool(dtype.is_temporal())
    return getattr(dtype, "kind", "") in ("m", "M")
