"""Outlier detection by the distance from a subspace of feature space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_choice, probability, random_numbers
from pursuit._warnings import warn
from pursuit.bounds import false_alarms
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import validate_data
from pursuit.kernels.given import is_precomputed

from ._settings import drawn_by_content
from .pca import SparseKernelPCA

# Captured share of the variance, and points at most, that the subspace has by default.
_CAPTURED, _MOST_POINTS = 0.99, 500
# Share of the promised rate that alarms among the training rows may take up, in the
# choice of a size that a compression bound certifies.
_SPENT = 0.5


class SubspaceOutlierDetector(OutlierMixin, Saved, BaseEstimator):
    r"""Novelty detector by the distance from the span of a few training points.

    A row is abnormal if its image in feature space is far from the span of the points
    that :class:`SparseKernelPCA` chose among regular rows,

    .. math:: \|\phi(x) - P\phi(x)\|^2 = k(x, x) - k_i K_{ii}^{-1} k_i^T.

    The threshold is set so that the rate of false alarms is certified: at most
    `false_alarm_rate` of new regular rows are called outliers.

    Parameters
    ----------
    subspace : SparseKernelPCA, optional
        How points are chosen; all that they span is used. By default
        ``SparseKernelPCA(0.99, max_support=500, center=False)``: as many as capture
        99 % of the variance, up to 500. Columns of different units want a
        ``StandardScaler`` before.
    false_alarm_rate : float, default=0.05
        Share of new regular rows that may be called outliers; between 0 and 1.
    certificate : {"conformal", "compression"}, default="conformal"
        What promises this rate. "conformal": some rows are left out of the subspace,
        and the threshold is a quantile of their distances. The promise is for the mean
        over training sets, and exact whatever the distribution. "compression": no row
        is left out. The chosen points and the row that sets the threshold are a
        compression of the data, of which :func:`pursuit.bounds.false_alarms` bounds
        the rate for this very detector, with probability ``1 - delta``. It needs many
        rows for each point (the subspace is cut to what can be certified), and a kernel
        whose width is a number, since "median" looks at all rows.
    calibration_fraction : float, default=0.25
        Share of the rows that a conformal certificate leaves out; more if the rate
        needs more (``1 / rate - 1`` rows), but at most half.
    delta : float, default=0.05
        Probability with which a compression bound may fail.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of the rows that are left out. With None it is fixed.

    Attributes
    ----------
    subspace_ : SparseKernelPCA
        The fitted subspace.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Points that span it; predictions need no others.
    n_support_ : int
        Their number.
    offset_ : float
        Threshold: ``decision_function`` is ``score_samples - offset_``.
    certified_rate_ : float
        Rate of false alarms that is certified, at most `false_alarm_rate`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    DensityOutlierDetector : The same by low density.

    Notes
    -----
    Training rows are meant to be regular: a few outliers among them that are chosen as
    points are called regular. Far from all points the distance is ``k(x, x)``, the
    largest possible. A prediction takes O(N²) operations for N points.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    .. [2] H. Hoffmann, "Kernel PCA for novelty detection", Pattern Recognition 40,
       863-874, 2007.
    .. [3] S. Bates, E. Candès, L. Lei, Y. Romano, M. Sesia, "Testing for outliers with
       conformal p-values", Annals of Statistics 51, 149-178, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import SubspaceOutlierDetector
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> model = SubspaceOutlierDetector().fit(X)
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]]).tolist()
    [1, -1]
    """

    _calibration: np.ndarray | None

    def __init__(
        self,
        subspace: Any = None,
        *,
        false_alarm_rate: float = 0.05,
        certificate: str = "conformal",
        calibration_fraction: float = 0.25,
        delta: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.subspace = subspace
        self.false_alarm_rate = false_alarm_rate
        self.certificate = certificate
        self.calibration_fraction = calibration_fraction
        self.delta = delta
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the points and set the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Regular rows.
        y : None
            Ignored.

        Returns
        -------
        self : SubspaceOutlierDetector
            The fitted detector.
        """
        rate = probability("false_alarm_rate", self.false_alarm_rate)
        share = probability("calibration_fraction", self.calibration_fraction)
        probability("delta", self.delta)
        check_choice("certificate", self.certificate, ("conformal", "compression"))
        subspace = self._subspace()
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        if self.certificate == "compression":
            self._certify_by_compression(subspace, X, rate)
        else:
            self._calibrate(subspace, X, rate, share)
        return self

    def _subspace(self) -> SparseKernelPCA:
        """Return the unfitted subspace."""
        if self.subspace is None:
            return SparseKernelPCA(_CAPTURED, max_support=_MOST_POINTS, center=False)
        if not isinstance(self.subspace, SparseKernelPCA):
            raise TypeError(
                f"subspace={self.subspace!r} must be a SparseKernelPCA, such as "
                "SparseKernelPCA(50, gamma=0.1)."
            )
        if is_precomputed(self.subspace.kernel):
            raise ValueError(
                "subspace=SparseKernelPCA(kernel='precomputed') has no points, which "
                "new rows are compared with: name a kernel."
            )
        return clone(self.subspace)

    # -- certificates --------------------------------------------------------------

    def _calibrate(
        self, subspace: SparseKernelPCA, X: Any, rate: float, share: float
    ) -> None:
        """Set the threshold by rows that the subspace has not seen."""
        n = X.shape[0]
        wanted = max(share * n, 1.0 / rate - 1.0)
        n_left_out = max(1, min(int(np.ceil(wanted)), n // 2))
        rng = random_numbers(self.random_state)
        seed = 0 if self.random_state is None else int(rng.randint(2**31 - 1))
        left_out = drawn_by_content(X, n_left_out, seed)
        fitted = np.setdiff1d(np.arange(n), left_out)
        self._take(subspace.fit(X[fitted]))
        self._calibration = np.sort(self._scores(X[left_out]))
        # With rounding up, as 0.05 * 20 may be below 1.
        n_alarms = int(rate * (n_left_out + 1) * (1 + 1e-12))
        self.certified_rate_ = n_alarms / (n_left_out + 1)
        if n_alarms:
            self.offset_ = float(self._calibration[n_alarms - 1])
            return
        self.offset_ = float(np.finfo(np.float64).min)
        warn(
            f"{n_left_out} rows to calibrate with cannot certify "
            f"false_alarm_rate={rate:g}, so that no row will be called an outlier: "
            f"{int(np.ceil(1 / rate - 1))} are needed, twice as many rows in X, or a "
            "higher rate."
        )

    def _certify_by_compression(
        self, subspace: SparseKernelPCA, X: Any, rate: float
    ) -> None:
        """Set the threshold by a row of the data, and bound the rate."""
        _check_width(subspace)
        n, delta = X.shape[0], float(self.delta)
        subspace.fit(X)
        bound = np.inf
        for spent in (_SPENT, 0.0):
            for size in range(subspace.n_support_, 0, -1):
                n_alarms = int(spent * rate * (n - size - 1))
                bound = false_alarms(n, size, n_alarms, delta=delta)
                if bound <= rate:
                    self._cut(subspace.truncate(size), X, rate)
                    return
        raise ValueError(
            f"certificate='compression' cannot promise false_alarm_rate={rate:g} with "
            f"{n} rows, even for one point (at best {bound:.3g}): pass more rows, a "
            "higher rate, or certificate='conformal'."
        )

    def _cut(self, subspace: SparseKernelPCA, X: Any, rate: float) -> None:
        """Set the lowest threshold that the bound certifies for this subspace."""
        n, size = X.shape[0], subspace.n_support_
        self._take(subspace)
        others = np.setdiff1d(np.arange(n), subspace.support_)
        scores = np.sort(self._scores(X[others]))
        n_alarms = 0
        while n_alarms + 1 < len(scores):
            if false_alarms(n, size, n_alarms + 1, delta=self.delta) > rate:
                break
            n_alarms += 1
        self.offset_ = float(scores[n_alarms])
        # Equal scores are no alarms.
        n_alarms = int(np.searchsorted(scores, self.offset_))
        self.certified_rate_ = float(
            false_alarms(n, size, n_alarms, delta=float(self.delta))
        )
        self._calibration = None

    def _take(self, subspace: SparseKernelPCA) -> None:
        self.subspace_ = subspace
        self.support_vectors_ = subspace.support_vectors_
        self.n_support_ = subspace.n_support_

    # -- predictions ---------------------------------------------------------------

    def _scores(self, X: Any) -> np.ndarray:
        return -self.subspace_.reconstruction_error(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return minus the squared distance of each row's image from the subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            0 within the subspace; lower is more abnormal.
        """
        check_is_fitted(self, "offset_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score minus the threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for outliers and 1 for the others.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of int of shape (n_samples,)
            -1 or 1.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def p_values(self, X: Any) -> np.ndarray:
        """Return conformal p-values: small where a row is unlike the regular ones.

        Of new regular rows at most a share ``p`` have a value of ``p`` or less.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        p : ndarray of shape (n_samples,)
            Share, of the left-out rows and the row itself, that are as abnormal.
        """
        scores = self.score_samples(X)
        if self._calibration is None:
            raise ValueError(
                "certificate='compression' leaves no rows out, which p-values need: "
                "fit with certificate='conformal'."
            )
        n_lower = np.searchsorted(self._calibration, scores, side="right")
        return np.asarray((1 + n_lower) / (1 + len(self._calibration)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_width(subspace: SparseKernelPCA) -> None:
    """Raise a ValueError if the width of the kernel comes from the data."""
    kernel = subspace.kernel
    gamma = subspace.gamma if isinstance(kernel, str) else getattr(kernel, "gamma", 1.0)
    has_none = isinstance(kernel, str) and kernel in ("linear", "cosine")
    if isinstance(gamma, str) and gamma != "auto" and not has_none:
        raise ValueError(
            f"gamma={gamma!r} looks at all rows, so that the chosen points are no "
            "compression of them: pass a number with certificate='compression', such "
            "as SparseKernelPCA(50, gamma=0.1)."
        )
