"""Reject inputs that scikit-learn would misread: masked arrays, lazy frames, dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags, validation


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
    try:
        return validation.validate_data(estimator, X, *y, **how)
    except ValueError as error:
        if how.get("reset", True) or not _is_of_other_width(estimator, X):
            raise
        raise ValueError(
            f"{error} X must be the kernel with all {estimator.n_features_in_} "
            f"training points, or with the {estimator.n_support_} of support_ only."
        ) from None


def _is_of_other_width(estimator: Any, X: Any) -> bool:
    """Return whether X is no kernel matrix of a model that takes one."""
    takes_kernel = get_tags(estimator).input_tags.pairwise
    widths = (
        getattr(estimator, name, None) for name in ("n_features_in_", "n_support_")
    )
    return bool(takes_kernel and np.ndim(X) == 2 and np.shape(X)[1] not in widths)


def check_kind(data: Any, name: str) -> None:
    """Raise a ValueError if the data would be misread, or not read at all."""
    if type(data) is np.ndarray and data.dtype.kind not in "mM":
        return
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
        columns = [repr(column) for column, dtype in dtypes if _is_time(dtype)]
        where = f"in the columns {', '.join(columns)}"
    else:
        columns = [""] if _is_time(getattr(data, "dtype", None)) else []
        where = f"({getattr(data, 'dtype', None)})"
    if columns:
        raise ValueError(
            f"{name} holds dates or durations {where}: make numbers of them, such as "
            "days since a date."
        )


def _is_time(dtype: Any) -> bool:
    if hasattr(dtype, "is_temporal"):  # polars
        return bool(dtype.is_temporal())
    return getattr(dtype, "kind", "") in ("m", "M")
