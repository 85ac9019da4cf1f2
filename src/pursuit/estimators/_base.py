"""Base class of the kernel matching pursuit estimators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import is_word, whole_between
from pursuit.bounds.paths import NestedModels, Training, TrainingRecord
from pursuit.dictionaries.data_frames import framer
from pursuit.engine.problem import Steps
from pursuit.expansions import Expansion, value_blocks
from pursuit.fitting import REASONS, Fit, fit
from pursuit.fitting.judging import QUICK_SCORERS, Score
from pursuit.fitting.plan import Plan
from pursuit.fitting.search import as_table
from pursuit.functions import Functions
from pursuit.kernels import Linear
from pursuit.losses import as_loss
from pursuit.losses.laws import check_on_targets
from pursuit.path import Path, SeparatePaths, joined

from ._callbacks import CallbackSupport, StepReporter
from ._empty import tell_why_empty
from ._inputs import validate_data
from ._learning import takes_kernel_matrix
from ._planning import make_plan
from ._task import Task


class BaseKMP(CallbackSupport, BaseEstimator):
    """Base class of the regressor and the classifier."""

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "cv",
        degree: int = 3,
        coef0: float = 0.0,
        dictionary: Any = None,
        loss: Any = "squared",
        max_support: int | float | None = None,
        method: str = "pre-fitting",
        backfit_every: int = 1,
        selection: str | None = "cv",
        scoring: Any = None,
        size_tolerance: float | str = 0.01,
        cv: Any = 10,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        bound: str = "auto",
        bound_alpha: float | None = None,
        delta: float = 0.05,
        alpha: float | str = "cv",
        fit_intercept: bool = True,
        n_candidates: int | float | str | None = "auto",
        redraw_candidates: bool = False,
        max_memory: int | str | None = None,
        dtype: Any = "float64",
        tol: float = 1e-14,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.dictionary = dictionary
        self.loss = loss
        self.max_support = max_support
        self.method = method
        self.backfit_every = backfit_every
        self.selection = selection
        self.scoring = scoring
        self.size_tolerance = size_tolerance
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.bound = bound
        self.bound_alpha = bound_alpha
        self.delta = delta
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.n_candidates = n_candidates
        self.redraw_candidates = redraw_candidates
        self.max_memory = max_memory
        self.dtype = dtype
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------

    def _pursue(
        self,
        X: Any,
        y: Any,
        Y: np.ndarray,
        folded: np.ndarray,
        copies: np.ndarray,
        groups: Any,
        class_weight: np.ndarray | float = 1.0,
        is_shared: bool = True,
    ) -> None:
        """Fit the targets ``Y`` (T, l); the folds are balanced in ``folded`` (l,).

        ``copies`` (l,) are the sample weights, ``class_weight`` (l,) those of the rows'
        classes.
        """
        is_class, weight = is_classifier(self), copies * class_weight
        loss = as_loss(self.loss, is_class)
        if is_shared and len(Y) > 1 and is_class:
            loss = loss.jointly()
        fitted = weight > 0
        loss.check_targets(Y[:, fitted])
        loss = loss.bind(Y, weight)
        check_on_targets(loss, Y[:, fitted], weight[fitted])
        self._loss = loss
        task = Task(
            X=X,
            Y=Y,
            folded=folded,
            weight=weight,
            copies=copies,
            groups=groups,
            loss=loss,
            score=self._score(X, y, is_shared),
            is_class=is_class,
            is_shared=is_shared,
        )
        plan = make_plan(self, task)
        reporter = self._reporter(plan, X, y)
        found = fit(plan, X, Y, weight, reporter)
        tell_why_empty(found, X, Y, weight, is_class)
        attributes = self._attributes(found)
        self._set_attributes(attributes)
        if loss.is_identity_linked or is_class:
            self.path_ = self._recorded(attributes["path_"], plan, X, Y, weight)
        self.selection_ = plan.size.selection
        self.stop_reason_ = REASONS[found.stop_reason]
        self.search_ = as_table(found.trials)
        if reporter is not None:
            reporter.finish()

    def _score(self, X: Any, y: np.ndarray, is_shared: bool) -> Score | None:
        """Return the score of held-out rows if `scoring` is set, None for the loss."""
        if self.scoring is None:
            return None
        if not is_shared:
            raise ValueError(
                f"scoring={self.scoring!r} judges all classes together, but "
                "multiclass='ovr' chooses a size for each: use multiclass='shared' or "
                "scoring=None."
            )
        return Score(self._scorer(), self._with_values, X, np.asarray(y))

    def _scorer(self) -> Callable[..., float]:
        # Quick ones do not check whether they suit the targets.
        quick = {"accuracy"} if is_classifier(self) else {*QUICK_SCORERS} - {"accuracy"}
        if isinstance(self.scoring, str) and self.scoring in quick:
            return QUICK_SCORERS[self.scoring]
        try:
            return cast(Callable[..., float], check_scoring(self, scoring=self.scoring))
        except (TypeError, ValueError):
            raise ValueError(
                f"scoring={self.scoring!r} is not a score: give one of the names that "
                "sklearn.metrics.get_scorer_names() lists, a function "
                "scorer(model, X, y), or None for the loss."
            ) from None

    def _with_values(self, values: np.ndarray) -> Any:
        """Return a copy that predicts from these values (T, n) of its function."""
        model = copy.copy(self)
        model._values = lambda X: values.T  # type: ignore[method-assign]
        return model

    def _attributes(self, found: Fit) -> dict[str, Any]:
        path = joined(found.paths)
        return {
            "path_": path,
            "alpha_": found.alpha,
            "gamma_": found.dictionary.gamma,
            "n_iter_": len(path),
            "_path_functions": found.functions(path.support),
            **_sized(path, found.sizes),
        }

    def _recorded(
        self,
        path: Path | SeparatePaths,
        plan: Plan,
        X: Any,
        Y: np.ndarray,
        weight: np.ndarray,
    ) -> Path | SeparatePaths:
        """Return the path with the training data that its bounds need."""
        counted, n_candidates = np.flatnonzero(weight > 0), len(plan.rows.labels)
        functions, place = self._path_functions, _places(path)

        def values(path: NestedModels) -> tuple[np.ndarray, np.ndarray]:
            own = functions[[place[int(i)] for i in path.support]]
            blocks = [block for _, block in value_blocks(own, X)]
            return np.concatenate(blocks), own.rows

        def recorded(path: Path, Y: np.ndarray) -> Path:
            none = np.zeros(0, dtype=int)
            training = Training(Y[:, counted], none, n_candidates, plan.is_class)
            return replace(path, record=TrainingRecord(values, training, counted))

        ends = np.cumsum([p.n_outputs for p in path.paths])
        parts = zip(path.paths, np.split(Y, ends[:-1]), strict=True)
        return joined([recorded(p, own) for p, own in parts])

    def _set_attributes(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _reporter(self, plan: Plan, X: Any, y: Any) -> StepReporter | None:
        if not hasattr(self, "_init_callback_context"):
            return None

        def attributes(
            pursuits: Sequence[Steps], dictionary: Any, n: int
        ) -> dict[str, Any]:
            paths = [plan.rows.path_of(p) for p in pursuits]
            paths = [p.truncate(min(n, len(p))) for p in paths]
            sizes = [len(p) for p in paths]
            alpha = pursuits[0].problem.alpha
            found = Fit(dictionary, plan.rows.labels, alpha, paths, sizes, [], "")
            return self._attributes(found)

        # Weights of classes are part of the fit, not of its data.
        data = {"X": X, "y": y, "metadata": {"sample_weight": plan.rows.copies}}
        return StepReporter(self, plan.steps.max_steps, data, attributes)

    # -- sizes ---------------------------------------------------------------------

    def truncate(self, n: int | None = None) -> Self:
        """Return a model of size ``n`` from the same path, without another fit.

        Parameters
        ----------
        n : int, optional
            Number of steps, from 0 to ``len(path_)`` (for each class with
            ``multiclass="ovr"``). It may exceed the chosen size. By default, the
            chosen size: the same model without the rest of its path.

        Returns
        -------
        model : estimator
            A fitted copy that keeps only what this size needs: ``path_`` ends there,
            ``n_iter_`` is its length, and ``stop_reason_`` begins with "truncated" if
            steps were left out. This model does not change.

        Notes
        -----
        A fitted model keeps its whole path and, until it is pickled, a reference to
        the training rows for ``path_.bound``. ``model.truncate()`` is all that
        predictions need: pickle that for deployment.
        """
        check_is_fitted(self, "dual_coef_")
        if n is not None:
            n = whole_between("n", n, 0, len(self.path_), "the length of the path")
        cut = self.path_.truncate(self._sizes if n is None else n)
        model = copy.copy(self)
        # What predictions need does not hold the training rows.
        model.path_ = joined([replace(path, record=None) for path in cut.paths])
        model._path_functions = self._functions_of(model.path_.support)
        model._set_attributes(_ended(model.path_))
        if any(p.stop_reason == "truncated" for p in cut.paths):
            model.stop_reason_ = REASONS["truncated"]
        return model

    def staged_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, scoring: Any = None
    ) -> Iterator[float]:
        """Yield the scores of the models of sizes 1, 2, ... on the path.

        The stages go past the chosen size to the end of the path. The functions are
        evaluated once for all of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        scoring : str or callable, optional
            A scorer of scikit-learn; by default :meth:`score`.

        Yields
        ------
        score : float
            Score of ``truncate(n)``.
        """
        scorer = check_scoring(self, scoring=scoring)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        for values in self._staged(X):
            yield float(scorer(self._with_values(values.T), X, y, **weights))

    @property
    def atoms_(self) -> Functions:
        """The functions of the model, in order of choice.

        ``atoms_.names`` describes each, ``atoms_(X)`` are their values.
        """
        check_is_fitted(self, "dual_coef_")
        return self._functions_of(self.support_)

    @property
    def support_vectors_(self) -> Any:
        """The points on which the model's functions are centered, in order of choice.

        Functions that are not centered on a point are left out.
        """
        return self.atoms_.centers

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the features, (n_outputs, n_features); linear kernel only."""
        if type(getattr(self.atoms_, "kernel", None)) is not Linear:
            raise AttributeError(
                "coef_, the weights of the features, exists for kernel='linear' only: "
                "use dual_coef_, the weights of support_vectors_."
            )
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _functions_of(self, support: np.ndarray) -> Functions:
        place = _places(self.path_)
        return self._path_functions[[place[int(i)] for i in support]]

    def _values(self, X: Any) -> np.ndarray:
        """Return f at the rows of X, shape (n, n_outputs)."""
        check_is_fitted(self, "dual_coef_")
        X = self._checked(X)
        return Expansion(self.atoms_, self.dual_coef_, self.intercept_)(X)

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self, "dual_coef_")
        X = self._checked(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                "The stages need the kernel with all training points: "
                f"{self.n_features_in_} columns, got {X.shape[1]}."
            )
        blocks = value_blocks(self._path_functions, X)
        yield from self.path_.staged_values(np.concatenate([G for _, G in blocks]))

    def _checked(self, X: Any) -> Any:
        if self._takes_matrix and np.shape(X)[1:] == (self.n_support_,):
            return check_array(X, dtype=np.float64)
        accepted = "csr" if self._accepts_sparse else False
        return validate_data(
            self, X, reset=False, accept_sparse=accepted, dtype=np.float64
        )

    def _validated(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        is_pairwise = takes_kernel_matrix(self)
        accepted = "csr" if self._accepts_sparse else False
        given = X
        X, y = validate_data(
            self, X, y, accept_sparse=accepted, dtype=np.float64, **how
        )
        self._framer = framer(given, getattr(self, "feature_names_in_", None))
        if is_pairwise and X.shape[0] != X.shape[1]:
            what = (
                "kernel='precomputed'" if self.dictionary is None else self.dictionary
            )
            raise ValueError(f"{what} needs a square matrix at fit, got {X.shape}.")
        return X, y

    @property
    def _is_bounded(self) -> bool:
        """Whether a bound chooses the size."""
        return is_word(self.selection, "bound")

    @property
    def _takes_matrix(self) -> bool:
        """Whether X is a matrix of function values, such as a precomputed kernel."""
        return takes_kernel_matrix(self) or getattr(self.dictionary, "is_matrix", False)

    @property
    def _accepts_sparse(self) -> bool:
        if self._takes_matrix:
            return False
        return bool(getattr(self.dictionary, "accepts_sparse", True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = takes_kernel_matrix(self)
        return tags


def _sized(path: Path | SeparatePaths, sizes: Sequence[int]) -> dict[str, Any]:
    """Return the fitted attributes that depend on the size."""
    support, coef, intercept = path.coefficients(sizes)
    return {
        "support_": support,
        "dual_coef_": coef,
        "intercept_": intercept,
        "n_support_": len(support),
        "_sizes": list(sizes),
    }


def _ended(path: Path | SeparatePaths) -> dict[str, Any]:
    """Return the fitted attributes of the whole path."""
    return {**_sized(path, [len(p) for p in path.paths]), "n_iter_": len(path)}


def _places(path: Path | SeparatePaths) -> dict[int, int]:
    """Return the position of each atom in the path's support."""
    return {int(atom): j for j, atom in enumerate(path.support)}
