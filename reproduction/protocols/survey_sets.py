"""Data sets of the survey, with their training and test rows."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pursuit import datasets

MAX_TEST = 5000


@dataclass(frozen=True)
class Protocol:
    """How a data set is split into training and test rows.

    Published splits are used if they exist; otherwise two thirds of the rows, drawn at
    random, are for training. There are at most ``n_train`` training rows. ``scale``
    divides the inputs; None standardizes them by the training rows. ``with_rvm`` is
    False if a relevance vector machine for each class takes minutes to tune and fit.
    """

    n_train: int = 1000
    n_splits: int = 3
    views: tuple[str, ...] = ()
    scale: float | None = None
    is_class: bool = True
    with_rvm: bool = True


# Names that begin with "sklearn" are sets that scikit-learn ships, the others those of
# pursuit.datasets.
SETS = {
    "nutrimouse": Protocol(),
    "thyroid": Protocol(),
    "sonar": Protocol(),
    "titanic": Protocol(),
    "breast_cancer": Protocol(),
    "heart": Protocol(),
    "ionosphere": Protocol(),
    "ripley": Protocol(n_splits=1),
    "wisconsin": Protocol(),
    "banana": Protocol(),
    "pima": Protocol(),
    "waveform": Protocol(),
    "mushrooms": Protocol(n_train=300),
    "mfeat": Protocol(n_splits=1, views=("fac", "kar")),
    "a9a": Protocol(n_splits=1),
    "adult": Protocol(n_splits=1),
    "covtype": Protocol(n_splits=1, with_rvm=False),
    "mnist": Protocol(n_splits=1, scale=255.0, with_rvm=False),
    "usps": Protocol(n_train=1500, n_splits=1, scale=1.0, with_rvm=False),
    "sklearn digits": Protocol(n_splits=1, scale=16.0, with_rvm=False),
    "boston": Protocol(is_class=False),
    "california": Protocol(n_splits=1, is_class=False),
    "sklearn diabetes": Protocol(is_class=False),
}
SHIPPED = {
    "sklearn digits": sklearn.datasets.load_digits,
    "sklearn diabetes": sklearn.datasets.load_diabetes,
}
QUICK = ("thyroid", "sonar", "heart", "ionosphere", "sklearn diabetes")


@dataclass(frozen=True, eq=False)
class Problem:
    """Scaled training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def problem(name: str, split: int, protocol: Protocol) -> Problem:
    """Return one split of a data set, independent of other runs."""
    X, y, published = rows_of(name, protocol)
    seed = zlib.crc32(f"{name}{split}".encode())
    train, test = _split(y, published, split, protocol, seed)
    A, B = dense(X[train]), dense(X[test])
    if protocol.scale is None:
        scaler = StandardScaler().fit(A)
        A, B = scaler.transform(A), scaler.transform(B)
    else:
        A, B = A / protocol.scale, B / protocol.scale
    target, target_test = y[train], y[test]
    if not protocol.is_class:
        center, spread = target.mean(), target.std()
        target, target_test = (
            (target - center) / spread,
            (target_test - center) / spread,
        )
    return Problem(A, target, B, target_test)


def rows_of(name: str, protocol: Protocol) -> tuple[Any, np.ndarray, list[Any]]:
    """Return inputs, targets and published splits, without incomplete rows."""
    if name in SHIPPED:
        X, y = SHIPPED[name](return_X_y=True)
        return X, y, []
    bunch = datasets.load(name)
    X = bunch.data
    if protocol.views:
        X = np.hstack([bunch.views[view] for view in protocol.views])
    if isinstance(X, np.ndarray) and np.isnan(X).any():
        complete = ~np.isnan(X).any(axis=1)
        return X[complete], bunch.target[complete], []
    return X, bunch.target, bunch.splits


def _split(
    y: np.ndarray, published: list[Any], split: int, protocol: Protocol, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    if len(published) > 1:
        return published[split]
    if published:
        train, test = published[0]
    else:
        n_train = min(2 * len(y) // 3, protocol.n_train)
        train, test = train_test_split(
            np.arange(len(y)),
            train_size=n_train,
            random_state=seed,
            stratify=y if protocol.is_class else None,
        )
    train = _sample(train, y, protocol.n_train, protocol, seed)
    return train, _sample(test, y, MAX_TEST, protocol, seed + 1)


def _sample(
    rows: np.ndarray, y: np.ndarray, size: int, protocol: Protocol, seed: int
) -> np.ndarray:
    """Return at most ``size`` of the rows, stratified by class."""
    if len(rows) <= size:
        return rows
    labels = y[rows] if protocol.is_class else None
    return train_test_split(rows, train_size=size, random_state=seed, stratify=labels)[
        0
    ]


def dense(X: Any) -> np.ndarray:
    """Return rows as a dense array of float64."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
