"""USPS and MNIST in three parts, as in chapters 11 and 13."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit import datasets

# Numbers of training, validation and test rows. In the papers, the validation rows are
# the last of the training file.
SIZES = {"usps": [6291, 1000, 2007], "mnist": [50000, 10000, 10000]}
QUICK_SIZES = {"usps": [1000, 300, 300], "mnist": [3000, 500, 500]}


@dataclass(frozen=True)
class Parts:
    """Images and labels for training, validation and test."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def everything(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and validation rows, for the final model."""
        X = np.concatenate([self.X, self.X_valid])
        return X, np.concatenate([self.y, self.y_valid])


def parts(name: str, sizes: list[int]) -> Parts:
    """Return digits in parts of these sizes.

    USPS is smoothed, as raw USPS gives other errors (5.63 % for the nearest neighbor);
    MNIST is scaled to [0, 1]. Training rows are the first, validation rows the last of
    the training file, test rows the first of the test file.
    """
    n_train, n_valid, n_test = sizes
    is_usps = name == "usps"
    data = datasets.load(name, smooth=is_usps)
    scale = 1.0 if is_usps else 255.0
    rows = np.r_[:n_train, len(data.data_train) - n_valid : len(data.data_train)]
    X, y = data.data_train[rows] / scale, data.target_train[rows]
    X_test = data.data_test[:n_test] / scale
    return Parts(
        X[:n_train],
        y[:n_train],
        X[n_train:],
        y[n_train:],
        X_test,
        data.target_test[:n_test],
    )


def percent(errors: int, n: int) -> float:
    """Return a share in percent, truncated to two decimals as in the tables."""
    return errors * 10000 // n / 100
