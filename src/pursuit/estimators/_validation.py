"""What is asked of all data: inputs, targets, weights."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, get_tags, validation
from sklearn.utils.multiclass import check_classification_targets

from pursuit._parameters import check_classes, is_number, is_word
from pursuit._ranges import LARGEST_TO_SQUARE, SMALLEST_TO_SQUARE

from ._culprits import explained

# -- inputs ------------------------------------------------------------------------


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
        if not how.get("reset", True) and _is_of_other_width(estimator, X):
            raise ValueError(
                f"{error} X must be the kernel with all {estimator.n_features_in_} "
                f"training points, or with the {estimator.n_support_} of support_ only."
            ) from None
        message = explained(X) if _is_about_values(error) else None
        if message is None:
            raise
        raise ValueError(message) from None


def _is_about_values(error: ValueError) -> bool:
    """Return whether scikit-learn refuses values of X, and not its shape."""
    words = ("Input X contains", "could not convert", "Unable to convert")
    return any(word in str(error) for word in words)


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


# -- targets that are numbers ------------------------------------------------------


def as_numbers(y: Any) -> Any:
    """Convert strings and objects to numbers, or raise a ValueError.

    Missing values become NaN, which scikit-learn's checks reject.
    """
    if sparse.issparse(y):
        raise TypeError("y is sparse, but dense targets are required: use y.toarray().")
    values = np.asarray(y)
    if y is None or values.dtype.kind not in "OSU":
        return y
    try:
        if hasattr(y, "isna"):  # pandas, whose NA is not a number
            return y.to_numpy(np.float64, na_value=np.nan)
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds values that are not numbers ({error}): a regressor needs "
            "numbers; for classes use a classifier, such as KMPClassifier."
        ) from error


def check_target_scale(Y: np.ndarray, weight: np.ndarray, is_centered: bool) -> None:
    """Raise a ValueError if sums of squares of the targets over- or underflow.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Targets of the rows of positive weight.
    weight : ndarray
    is_centered : bool
        Whether a constant is fitted, so that only differences matter.
    """
    largest = float(np.abs(Y).max())
    # Correlations with functions of size 1 are squared too.
    if largest > np.sqrt(np.finfo(np.float64).max / 16) / max(1.0, weight.sum()):
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares overflow: scale it "
            "down, for instance with TransformedTargetRegressor and StandardScaler."
        )
    spread = float(np.ptp(Y, axis=0).max()) if is_centered else largest
    if 0 < spread < SMALLEST_TO_SQUARE:
        raise ValueError(
            f"y varies by {spread:.3g} at most, whose square underflows: scale it up, "
            "for instance with TransformedTargetRegressor and StandardScaler."
        )


def n_targets(y: Any) -> int:
    """Return the number of columns of an unchecked y, as far as it can be told."""
    first = y[0] if isinstance(y, list | tuple) and len(y) else 0.0
    shape: Any = getattr(y, "shape", (1, *np.shape(first)))
    return int(shape[1]) if len(shape) > 1 else 1


# -- classes -------------------------------------------------------------------------


def class_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and the index of each row's class."""
    if y.dtype.kind == "O" and any(label is None for label in y):
        raise ValueError("y has labels that are missing (None): leave these rows out.")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"y holds labels of types that have no common order ({kinds}): make them "
            "all words, or all numbers."
        ) from error
    check_classification_targets(y)
    return classes, codes


# -- weights -----------------------------------------------------------------------


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return sample weights as a float64 array, or raise a ValueError."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    weight = _numbers(sample_weight)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one "
            "weight for each sample."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight has negative values (the lowest is {weight.min():g}); "
            "weights must be 0 or more."
        )
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for all samples: nothing to fit.")
    if weight.max() > LARGEST_TO_SQUARE / n_rows:
        raise ValueError(
            f"sample_weight has values up to {weight.max():.3g}, whose sum cannot be "
            "squared: scale them down."
        )
    return weight


def _numbers(sample_weight: Any) -> np.ndarray:
    name = "sample_weight"
    check_kind(sample_weight, name)
    try:
        return check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name=name
        )
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise
        raise ValueError(
            f"sample_weight holds values that are not numbers: {error}"
        ) from error


def check_weighted_classes(
    classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> None:
    """Raise a ValueError unless at least two classes have rows of positive weight."""
    check_classes(classes)
    if len(np.unique(codes[weight > 0])) < 2:
        raise ValueError(
            "Only one class has rows of positive weight (sample_weight, class_weight); "
            "a classifier needs at least two classes."
        )


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the weight of each class, or raise a ValueError.

    ``codes`` (l,) are the indices of the rows' classes, ``weight`` (l,) the sample
    weights.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if is_word(class_weight, "balanced"):
        return _balanced(np.bincount(codes, weight, minlength=len(classes)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} must be a dict from class to weight, "
            "'balanced' or None."
        )
    return _of_mapping(class_weight, classes)


def _balanced(totals: np.ndarray) -> np.ndarray:
    """Return the weights that make the class totals equal and keep their sum."""
    present = totals > 0
    # A class of total weight 0 counts as absent.
    share = totals.sum() / np.count_nonzero(present)
    return np.divide(share, totals, out=np.zeros(len(totals)), where=present)


def _of_mapping(mapping: Mapping[Any, Any], classes: np.ndarray) -> np.ndarray:
    """Return the weights of the classes; those not mentioned have weight 1."""
    known = classes.tolist()
    for label, weight in mapping.items():
        if not is_number(weight) or not 0 <= weight < np.inf:
            raise ValueError(
                f"class_weight={mapping!r} gives the class {label!r} the weight "
                f"{weight!r}: weights must be finite numbers of 0 or more."
            )
    unknown = [label for label in mapping if label not in known]
    # A fold may lack a class, so an unknown label is an error only if another class is
    # left without a weight.
    if unknown and any(label not in mapping for label in known):
        raise ValueError(
            f"class_weight={mapping!r} mentions {unknown[0]!r}, which is not a class "
            f"of y; the classes are {', '.join(map(repr, known))}."
        )
    return np.array([float(mapping.get(label, 1.0)) for label in known])
