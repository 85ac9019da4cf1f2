"""What the kernel matching pursuit estimators share."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import is_word, whole_between
from pursuit._removed import RemovedParameters
from pursuit._words import (
    Auto,
    ClassLoss,
    FloatType,
    KernelFunction,
    KernelName,
    MethodWord,
    MetricWord,
    NumberLoss,
    SelectionWord,
    WidthRule,
)
from pursuit.engine.problem import Steps
from pursuit.estimators._onnx import OnnxConvertible
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import validate_data
from pursuit.expansions import values_of
from pursuit.fitting import REASONS, Fit, fit
from pursuit.fitting.plan import Plan, Score
from pursuit.fitting.timing import rows_in_time, sample_in_time, without_unused
from pursuit.functions import Functions
from pursuit.gradients import column_scales, importances
from pursuit.kernels import InMetric, Kernel, Linear
from pursuit.kernels.metric import mapped
from pursuit.losses import Loss, as_loss
from pursuit.losses.laws import check_on_targets
from pursuit.methods import Method, Redrawn, as_method
from pursuit.metrics import Metric, as_metric
from pursuit.path import Path, join
from pursuit.sample import Sample, framer
from pursuit.selection import Selection, as_selection

from .attributes import IMPORTANCE_ROWS, path_attributes, places_of
from .callbacks import CallbackSupport, StepReporter
from .continuing import Continued, Known
from .held_out import HeldOut
from .outputs import Outputs
from .planning import drawn_seed, make_plan
from .scoring import HeldOutScore, known_model, scorer_of
from .settings import (
    REMOVED,
    SVC_GUIDE,
    SVC_WORDS,
    Settings,
    takes_kernel_matrix,
)
from .summary import Summary, size_reason, summary_of
from .useless import tell_of_time, tell_what_is_useless


class BaseKMP(
    Continued,
    HeldOut,
    OnnxConvertible,
    CallbackSupport,
    Saved,
    RemovedParameters,
):
    """Base class of the regressor, the classifier and the ranker."""

    _removed, _foreign, _guide = REMOVED, SVC_WORDS, SVC_GUIDE
    _outputs: Outputs
    _is_batched = False

    def __init__(
        self,
        kernel: KernelName | Literal["auto", "precomputed"] | KernelFunction = "auto",
        *,
        gamma: float | WidthRule | Literal["cv"] = "cv",
        metric: MetricWord | Auto | Metric | list[Any] | np.ndarray | None = "auto",
        dictionary: Any = None,
        loss: ClassLoss | NumberLoss | Auto | Loss = "auto",
        max_support: int | float | None = None,
        method: MethodWord | Method = "pre-fitting",
        selection: SelectionWord | Selection | None = "cv",
        alpha: float | Literal["cv"] = "cv",
        fit_intercept: bool = True,
        n_candidates: int | float | Auto | Redrawn | None = "auto",
        max_memory: int | str | None = None,
        max_time: float | str | None = None,
        dtype: FloatType | type | np.dtype = "float64",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.metric = metric
        self.dictionary = dictionary
        self.loss = loss
        self.max_support = max_support
        self.method = method
        self.selection = selection
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.n_candidates = n_candidates
        self.max_memory = max_memory
        self.max_time = max_time
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, or of its components.

        Parameters
        ----------
        **params
            Names and values; ``selection__tolerance`` sets one of a component. A word
            such as ``selection="cv"`` then becomes the object that it stands for.

        Returns
        -------
        self : estimator
            The estimator itself.
        """
        components = (
            ("selection", as_selection),
            ("method", as_method),
            ("metric", as_metric),
        )
        for name, resolve in components:
            value = getattr(self, name)
            is_word = value is None or isinstance(value, str)
            is_inside = any(key.startswith(f"{name}__") for key in params)
            if is_word and is_inside and name not in params:
                setattr(self, name, resolve(value))
        return super().set_params(**params)

    # -- fitting -------------------------------------------------------------------

    def _pursue(
        self,
        settings: Settings,
        sample: Sample,
        outputs: Outputs,
        y: np.ndarray,
        groups: Any,
        is_shared: bool = True,
        known: Known | None = None,
    ) -> Fit:
        """Fit a sample; ``y`` are its targets as scorers see them.

        If something is known from an earlier fit, the fit goes on from there.
        """
        start = time.perf_counter()
        sample = sample_in_time(settings.deadline, sample)
        score = self._score(settings, sample, outputs, y, is_shared)
        plan = make_plan(settings, sample, outputs.loss, score, groups, is_shared)
        plan = without_unused(plan)
        self._check_plan(plan)
        if known is not None:
            plan = known.settle(plan)
        reporter = self._reporter(plan, outputs, y)
        result = fit(plan, reporter)
        if known is not None:
            known.check(result)
        plan = result.plan
        tell_what_is_useless(result, plan.sample)
        tell_of_time(result, len(sample))
        self._set(
            self._fitted_attributes(
                plan,
                outputs,
                result.paths,
                result.sizes,
                result.dictionary,
                result.alpha,
            )
        )
        self._n_rows = len(sample)
        self.loss_ = outputs.loss
        self.selection_ = plan.selection.word
        self.stop_reason_ = REASONS[result.stop_reason]
        if len(plan.sample) < len(sample):
            some = f"fitted to {len(plan.sample)} of {len(sample)} rows"
            self.stop_reason_ += f"; {some}"
        self.size_reason_ = size_reason(
            plan.selection,
            result.sizes,
            len(self.path_),
            len(plan.folds),
            result.stop_reason,
        )
        self._held_out = result.held_out
        self._keep_folds(result.folds)
        self.search_ = [] if known is None else list(known.search)
        self.search_ += [trial.as_dict() for trial in result.trials]
        self._importances = self._measured_importances(plan.sample)
        self._seconds = time.perf_counter() - start
        if reporter is not None:
            reporter.finish()
        return result

    def _measured_importances(self, sample: Sample) -> np.ndarray | None:
        """Return the importances of the features; None if gradients are not known."""
        kernel = getattr(self.atoms_, "kernel", None)
        if kernel is None or not kernel.has_gradients:
            return None
        rows = np.flatnonzero(
            (sample.priority >= 0) & (sample.priority < IMPORTANCE_ROWS)
        )
        groups = sample.centered_groups
        return importances(
            kernel,
            sample.X[rows],
            self.support_vectors_,
            self.dual_coef_.T,
            sample.weight[rows],
            None if groups is None else groups[rows],
        )

    def _settings(self) -> Settings:
        """Return the parameters, checked and resolved."""
        return Settings.of(self.get_params(deep=False))

    def _sample(
        self,
        settings: Settings,
        X: Any,
        Y: np.ndarray,
        weight: np.ndarray,
        loss: Loss,
        **more: Any,
    ) -> Sample:
        """Return the training data as one value."""
        names = getattr(self, "feature_names_in_", None)
        contents = None
        if settings.learned is not None and settings.learned.learns_metric:
            # Folds and candidates do not depend on the units of the columns either.
            contents = mapped(X, column_scales(X, weight))
        is_kernel = takes_kernel_matrix(self.kernel, self.dictionary)
        if not is_kernel:
            codes = more.get("codes")
            weight = rows_in_time(settings.deadline, X, weight, codes)
        rng = settings.random_numbers
        return Sample.of(
            X,
            Y,
            weight,
            feature_names=None if names is None else tuple(map(str, names)),
            is_kernel=is_kernel,
            fit_intercept=settings.fit_intercept and loss.frees_constant,
            memory=settings.memory,
            seed=drawn_seed(rng) if settings.is_seeded else 0,
            verbose=settings.verbose,
            framer=self._framer,
            contents=contents,
            **more,
        )

    def _bound_loss(
        self, settings: Settings, Y: np.ndarray, weight: np.ndarray, is_joint: bool
    ) -> Loss:
        """Return the loss for these targets; raise if it does not suit them."""
        name = self.loss
        if is_word(name, "auto"):
            suits = is_joint and settings.suits_margin(len(weight))
            name = "margin" if suits else "squared"
        loss = as_loss(name, is_classifier(self))
        if is_joint:
            loss = loss.jointly()
        is_fitted = weight > 0
        loss.check_targets(Y[:, is_fitted])
        loss = loss.bind(Y, weight)
        check_on_targets(loss, Y[:, is_fitted], weight[is_fitted])
        return loss

    def _score(
        self,
        settings: Settings,
        sample: Sample,
        outputs: Outputs,
        y: np.ndarray,
        is_shared: bool,
    ) -> Score | None:
        """Return the score of held-out rows if there is one, None for the loss."""
        scoring = settings.selection.scoring
        if scoring is None:
            return None
        if not is_shared:
            raise ValueError(
                f"scoring={scoring!r} judges all classes together, but "
                "multiclass='ovr' chooses a size for each: use multiclass='shared' or "
                "scoring=None."
            )
        scorer = scorer_of(scoring, self, sample.is_class)
        return HeldOutScore(scorer, outputs, sample.X, np.asarray(y))

    def _reporter(self, plan: Plan, outputs: Outputs, y: Any) -> StepReporter | None:
        if not hasattr(self, "_init_callback_context"):
            return None
        # Weights of classes are part of the fit, not of its data.
        weights = {"sample_weight": plan.sample.counts}
        data = {"X": plan.sample.X, "y": y, "metadata": weights}
        attributes = partial(self._attributes_after, plan, outputs)
        n_steps, has_search = plan.template.max_steps, plan.has_search
        reporter = StepReporter(self, n_steps, data, attributes, has_search)
        if has_search:
            plan.deadline.ask = reporter.stops_search
        return reporter

    def _attributes_after(
        self,
        plan: Plan,
        outputs: Outputs,
        steps: Sequence[Steps],
        dictionary: Functions,
        n: int,
    ) -> dict[str, Any]:
        """Return the fitted attributes after step ``n``."""
        paths = [plan.path_of(p) for p in steps]
        paths = [p.truncate(min(n, len(p))) for p in paths]
        sizes, alpha = [len(p) for p in paths], steps[0].problem.alpha
        return self._fitted_attributes(plan, outputs, paths, sizes, dictionary, alpha)

    def _fitted_attributes(
        self,
        plan: Plan,
        outputs: Outputs,
        paths: Sequence[Path],
        sizes: Sequence[int],
        dictionary: Functions,
        alpha: float,
    ) -> dict[str, Any]:
        """Return the attributes of a model on these paths."""
        path = join(paths)
        functions = dictionary[places_of(plan.grid.labels, path.support)]
        return {
            **path_attributes(path, sizes, functions),
            "alpha_": alpha,
            "gamma_": dictionary.gamma,
            "_outputs": outputs,
            "_was_matrix": self._takes_matrix,
            "_n_candidates": len(plan.grid.labels),
            "_n_rows": len(plan.sample),
            "_is_batched": False,
        }

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def summary(self) -> Summary:
        """Return what became of the fit, in a few lines.

        Returns
        -------
        summary : Summary
            To print, or for a notebook to show: the held-out error, what chose the
            size and why the path ended, kernel, ridge, the features that matter most,
            seconds.
        """
        check_is_fitted(self, "dual_coef_")
        return summary_of(self)

    def _html_repr(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram and the summary."""
        diagram = str(estimator_html_repr(self))
        # While callbacks look at the steps of a fit, there is no summary yet.
        if not hasattr(self, "size_reason_"):
            return diagram
        return f"{diagram}{self.summary()._repr_html_()}"

    # -- sizes ---------------------------------------------------------------------

    def truncate(self, n: int | None = None, *, folds: bool = True) -> Self:
        """Return a model of size ``n`` from the same path, without another fit.

        Parameters
        ----------
        n : int, optional
            Number of steps, from 0 to ``len(path_)`` (for each class with
            ``multiclass="ovr"``). It may exceed the chosen size. By default, the
            chosen size: the same model without the rest of its path.
        folds : bool, default=True
            Whether to keep the models of the folds, from which intervals and
            prediction sets come. Without them a pickle is several times smaller.

        Returns
        -------
        model : estimator
            A fitted copy that keeps only what this size needs, and ``search_``:
            ``path_`` ends there, ``n_iter_`` is its length, and ``stop_reason_`` begins
            with "truncated" if steps were left out. This model does not change.

        Notes
        -----
        A fitted model keeps its whole path, and that of each fold. For deployment,
        pickle ``model.truncate(folds=False)``.
        """
        check_is_fitted(self, "dual_coef_")
        if n is not None:
            n = whole_between("n", n, 0, len(self.path_), "the length of the path")
        path = self.path_.truncate(self._sizes if n is None else n)
        model = copy.copy(self)
        sizes = [len(p) for p in path.paths]
        functions = self._functions_of(path.support)
        model._set(path_attributes(path, sizes, functions))
        model._outputs = self._outputs_of(sizes)
        model._folds = self._folds_of(sizes) if folds else []
        if any(p.stop_reason == "truncated" for p in path.paths):
            model.stop_reason_ = REASONS["truncated"]
        if n is not None:
            model.size_reason_ = f"{n} steps: set by truncate"
            model._held_out = None
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
        from sklearn.metrics import check_scoring  # slow to import

        scorer = check_scoring(self, scoring=scoring)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        for outputs, values in self._staged_with_outputs(X):
            yield float(scorer(known_model(outputs, values), X, y, **weights))

    def _staged_with_outputs(self, X: Any) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the values of the models of sizes 1, 2, ..., and what reads them."""
        for n, values in enumerate(self._staged(X), start=1):
            sizes = [min(n, len(path)) for path in self.path_.paths]
            yield self._outputs_of(sizes), values

    def _encoded(self, y: Any) -> np.ndarray:
        """Return targets (T, n) as the fit sees them."""
        raise NotImplementedError

    # -- functions -----------------------------------------------------------------

    @property
    def atoms_(self) -> Functions:
        """The functions of the model, in order of choice.

        ``atoms_.names`` describes each, ``atoms_(X)`` are their values.
        """
        check_is_fitted(self, "dual_coef_")
        return self._expansion.functions

    @property
    def support_vectors_(self) -> Any:
        """The points on which the model's functions are centered, in order of choice.

        Functions that are not centered on a point are left out.
        """
        return self.atoms_.centers

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the model, with its width and, if it has one, its metric.

        ``kernel_(X, support_vectors_) @ dual_coef_.T + intercept_`` are the values of
        the model.
        """
        kernel: Kernel | None = getattr(self.atoms_, "kernel", None)
        if kernel is None:
            raise AttributeError(
                "This model has no single kernel: atoms_.names describes its functions."
            )
        return kernel

    @property
    def metric_(self) -> np.ndarray | None:
        """The metric M in which the kernel compares points; None for their distances.

        A vector of the weights of the features' squared differences, or a matrix.
        """
        kernel = self.kernel_
        return kernel.matrix if isinstance(kernel, InMetric) else None

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in how much the model varies.

        The mean squared derivative of the model along the feature, times the feature's
        variance, over training rows; the shares sum up to 1. An empty model has zeros.
        """
        check_is_fitted(self, "dual_coef_")
        if self._importances is None:
            raise AttributeError(
                "The importances of features need the gradients of a kernel, which the "
                "functions of this model do not give."
            )
        return self._importances

    @property
    def held_out_error_(self) -> float | None:
        """The error of the chosen size on held-out rows; None if nothing chose it.

        The loss of the fit, averaged over rows (summed over outputs); the negated score
        if there is a scorer, the bound if a bound chose the size. Where widths, ridges
        and sizes were compared on the same rows it is a little optimistic.
        """
        check_is_fitted(self, "dual_coef_")
        return None if self._held_out is None else self._held_out.error

    @property
    def held_out_standard_error_(self) -> float | None:
        """The standard error of `held_out_error_` over folds; None without folds."""
        check_is_fitted(self, "dual_coef_")
        return None if self._held_out is None else self._held_out.standard_error

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
        return self._path_functions[places_of(self.path_.support, support)]

    def _values(self, X: Any) -> np.ndarray:
        """Return f at the rows of X, shape (n, n_outputs)."""
        if not hasattr(self, "_expansion"):
            check_is_fitted(self, "dual_coef_")
        return self._expansion(self._checked(X))

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self, "dual_coef_")
        values = values_of(self._path_functions, self._staged_points(X))
        yield from self.path_.staged_values(values)

    def _staged_points(self, X: Any) -> Any:
        """Return points at which the functions of the whole path can be evaluated."""
        X = self._checked(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                "The stages need the kernel with all training points: "
                f"{self.n_features_in_} columns, got {X.shape[1]}."
            )
        return X

    # -- checks of X ---------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        if self._was_matrix and np.shape(X)[1:] == (self.n_support_,):
            return check_array(X, dtype=np.float64)
        accepted = "csr" if self._accepts_sparse else False
        return validate_data(
            self, X, reset=False, accept_sparse=accepted, dtype=np.float64
        )

    def _validated(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        accepted = "csr" if self._accepts_sparse else False
        original = X
        X, y = validate_data(
            self, X, y, accept_sparse=accepted, dtype=np.float64, **how
        )
        self._framer = framer(original, getattr(self, "feature_names_in_", None))
        is_pairwise = takes_kernel_matrix(self.kernel, self.dictionary)
        if is_pairwise and X.shape[0] != X.shape[1]:
            what = (
                "kernel='precomputed'" if self.dictionary is None else self.dictionary
            )
            raise ValueError(f"{what} needs a square matrix at fit, got {X.shape}.")
        return X, y

    @property
    def _takes_matrix(self) -> bool:
        """Whether X is a matrix of function values, such as a precomputed kernel."""
        is_matrix = getattr(self.dictionary, "is_matrix", False)
        return is_matrix or takes_kernel_matrix(self.kernel, self.dictionary)

    @property
    def _accepts_sparse(self) -> bool:
        if self._takes_matrix:
            return False
        return bool(getattr(self.dictionary, "accepts_sparse", True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = takes_kernel_matrix(self.kernel, self.dictionary)
        return tags
