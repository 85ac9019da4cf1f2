"""Fits and predictions block by block, for rows that do not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pursuit.batches import rows_of
from pursuit.estimators._batches import by_blocks, visits_of

from .batch_fitting import fit_visits
from .batch_scores import scored


class BatchFits(BaseEstimator):
    """Methods of the KMP estimators that take rows block by block."""

    def fit_batches(
        self, rows: Any, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Fit the model to rows that are read block by block, again and again.

        The result does not depend on the order of the rows, nor on their division into
        blocks. Of many rows, a part of 20 000, drawn by content, chooses kernel, width
        and ridge; one trip over all rows then sums up inner products, from which the
        points, their number and the coefficients follow. Under a loss other than the
        squared one the points are still chosen by squared loss; their coefficients
        minimize the loss on all rows, in a few more trips. ``loss="auto"`` is then the
        squared loss.

        The model is that of `fit`, up to rounding, if no more than 20 000 rows differ,
        or under squared loss if kernel, width and ridge are given, `n_candidates` and
        `random_state` are numbers, and ``selection=None``. Otherwise `fit` compares
        more candidates, and draws other rows to search on and to hold out.

        Parameters
        ----------
        rows : Rows, path, callable or other source
            What :func:`pursuit.batches.rows_of` takes: an object of `pursuit.batches`,
            such as ``ParquetRows("folder", target="y")``, or a callable that returns an
            iterator of blocks (X, y) or (X, y, sample_weight). An object of
            :class:`pursuit.trips.Visits` visits blocks wherever they are.
        checkpoint : path, optional
            File in which the work so far is kept. If the fit is killed, another one
            with the same rows, parameters and file goes on from there, to the same
            model. The file stays when the fit is complete.

        Returns
        -------
        self : estimator
            The fitted model. ``support_`` counts the candidates in the order of their
            draw, since rows of a source have no lasting number; the points themselves
            are ``support_vectors_``.

        See Also
        --------
        predict_batches : Predictions block by block.
        """
        fit_visits(self, visits_of(self, rows, checkpoint))
        return self

    def predict_batches(
        self, rows: Any, *, method: str = "predict"
    ) -> Iterator[np.ndarray]:
        """Yield the predictions for rows that are read block by block.

        Parameters
        ----------
        rows : Rows, path, callable or other source
            As in :meth:`fit_batches`; targets are not needed.
        method : {"predict", "predict_proba", "decision_function", ...}
            Which method of the model to call.

        Yields
        ------
        y : ndarray
            What the method returns for one block of rows.
        """
        check_is_fitted(self, "dual_coef_")
        return by_blocks(self, rows, method)

    def score_batches(self, rows: Any) -> float:
        """Return the accuracy, or R², on rows that are read block by block.

        Parameters
        ----------
        rows : Rows, path, callable or other source
            As in :meth:`fit_batches`, with targets.

        Returns
        -------
        score : float
            What ``score`` returns for all rows at once.
        """
        check_is_fitted(self, "dual_coef_")
        return scored(self, rows_of(rows))
