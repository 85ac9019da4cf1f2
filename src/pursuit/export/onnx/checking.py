"""Whether a graph agrees with the model that it was written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from pursuit.export.errors import UnsupportedError
from pursuit.export.formula import Formula

from .extra import needed
from .formulas import whole_formula
from .inputs import onnx_inputs, rounded

__all__ = ["Agreement", "check_onnx", "drawn_rows", "last_step"]

# Differences that rounding may make, as shares of Σ |coefficient × kernel value|: in
# double precision, in single precision, and in this behind other steps that round.
_DOUBLE, _SINGLE, _PREPARED = 1e-9, 1e-5, 1e-3
_N_DRAWN = 200


@dataclass(frozen=True)
class Agreement:
    """How far the answers of a graph are from those of its model, on some rows.

    Attributes
    ----------
    precision : {"float64", "float32"}
        That of the graph.
    n_rows : int
        Number of rows compared. For a graph in single precision, the model sees them
        as they are and rounded; what is nearer counts.
    difference : float
        Largest difference of a number: a prediction, probability or decision value.
    relative : float
        The same as a share of the largest of these numbers.
    n_labels : int
        Rows whose predicted labels differ.
    n_wrong_labels : int
        Those among them whose decision values are further apart than rounding explains.
    is_explained : bool
        Whether rounding explains all differences: they are below 1e-9 (double
        precision), 1e-5 (single) or 1e-3 (single, behind other steps) of the sum of
        the absolute terms of a value, and no label is wrong.
    """

    precision: str
    n_rows: int
    difference: float
    relative: float
    n_labels: int
    n_wrong_labels: int
    is_explained: bool

    @property
    def digits(self) -> int:
        """The number of decimal digits in which the largest numbers agree."""
        if not self.relative > 0:
            return self._most
        return int(np.clip(np.floor(-np.log10(self.relative)), 0, self._most))

    @property
    def _most(self) -> int:
        return 15 if self.precision == "float64" else 7

    def __str__(self) -> str:
        text = (
            f"{self.n_rows} rows in {self.precision}: numbers differ by at most "
            f"{self.difference:.1e} ({self.digits} of {self._most} digits agree)"
        )
        return text + f", {self.n_labels} labels differ" * bool(self.n_labels)


def check_onnx(model: Any, proto: Any, X: Any) -> Agreement:
    """Run a graph in onnxruntime and compare its answers with the model's.

    Parameters
    ----------
    model : estimator
        Model or pipeline that the graph was written from.
    proto : onnx.ModelProto or path
        The graph, or its file.
    X : array-like, sparse matrix or data frame
        Rows on which they are compared.

    Returns
    -------
    agreement : Agreement
        How far they are apart, and whether rounding explains it.
    """
    onnx = needed("onnx")
    if not isinstance(proto, onnx.ModelProto):
        proto = onnx.load(proto)
    inputs = onnx_inputs(proto, X)
    is_single = any(each.dtype == np.float32 for each in inputs.values())
    precision = "float32" if is_single else "float64"
    found = _run(proto, inputs)
    numbers = _Numbers(model, X, precision)
    gaps = [numbers.compare(name, found[name]) for name in found if name != "label"]
    labels = np.zeros(0, dtype=bool)
    if "label" in found:
        labels = numbers.differing_labels(found["label"])
    n_wrong = int((labels & numbers.is_clear).sum()) if labels.any() else 0
    return Agreement(
        precision=precision,
        n_rows=len(next(iter(inputs.values()))),
        difference=max((gap.difference for gap in gaps), default=0.0),
        relative=max((gap.relative for gap in gaps), default=0.0),
        n_labels=int(labels.sum()),
        n_wrong_labels=n_wrong,
        is_explained=n_wrong == 0 and all(gap.is_explained for gap in gaps),
    )


def drawn_rows(model: Any) -> np.ndarray:
    """Return rows around the support points, on which a graph can be checked."""
    model = getattr(model, "regressor_", model)  # of a transformed target
    points = _points(last_step(model))
    rng = np.random.default_rng(0)
    spread = points.std(axis=0) if len(points) > 1 else np.ones(points.shape[1])
    chosen = points[rng.integers(len(points), size=_N_DRAWN)]
    rows = chosen + 0.5 * spread * rng.normal(size=chosen.shape)
    rows = np.concatenate([points[:_N_DRAWN], rows])
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        rows = _raw(model, rows)
    return rows


def _raw(pipeline: Pipeline, rows: np.ndarray) -> np.ndarray:
    """Return raw rows that the steps before the model would map to these."""
    try:
        rows = np.asarray(pipeline[:-1].inverse_transform(rows), dtype=np.float64)
        rows = rows[np.isfinite(rows).all(axis=1)]
    except (AttributeError, TypeError, ValueError):
        rows = np.empty((0, 0))
    if not len(rows):
        raise ValueError(
            "check=None draws rows around the support points, which the steps before "
            "the model cannot map back: pass some rows as check=X, or check=False."
        )
    return rows


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def _points(model: Any) -> np.ndarray:
    if not hasattr(model, "onnx_converter"):
        raise ValueError(
            "check=None draws rows around the support points, of which "
            f"{type(model).__name__} has none: pass some rows as check=X, or "
            "check=False."
        )
    if hasattr(model, "factor_"):
        model = model.model_
    points = getattr(model, "support_vectors_", None)
    if points is None or not points.shape[0]:
        return np.zeros((1, model.n_features_in_))
    return points.toarray() if sparse.issparse(points) else np.asarray(points)


def _run(proto: Any, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    runtime = needed("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # what fails is raised, too
    try:
        session = runtime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # its errors have no common kind
        raise UnsupportedError(
            f"onnxruntime {runtime.__version__} cannot run the graph: {error} If a "
            "step that skl2onnx wrote is the reason, do its work before the pipeline, "
            "or try dtype='float32'."
        ) from error
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


@dataclass(frozen=True)
class _Gap:
    difference: float
    relative: float
    is_explained: bool


class _Numbers:
    """The model's numbers at some rows, and how much rounding may change them."""

    def __init__(self, model: Any, X: Any, precision: str) -> None:
        # A rounded row may lie on the other side of a jump, as a quantile is.
        is_single = precision == "float32"
        self._model = model
        self._versions = [X, rounded(X, precision)] if is_single else [X]
        self._formula = whole_formula(model)
        is_prepared = self._formula is None or bool(self._formula.steps)
        single = _PREPARED if is_prepared else _SINGLE
        self._tolerance = single if is_single else _DOUBLE

    def compare(self, name: str, found: np.ndarray) -> _Gap:
        """Compare one output with the model's own."""
        versions = [self._wanted(name, X) for X in self._versions]
        gaps = np.min([_gaps(found, wanted) for wanted in versions], axis=0)
        wanted = versions[0]
        size = np.abs(wanted).max(initial=0.0)
        difference = float(gaps.max(initial=0.0))
        allowed = self._tolerance * self._sizes(name, wanted)
        return _Gap(
            difference=difference,
            relative=difference / size if size > 0 else difference,
            is_explained=bool((gaps <= allowed).all()),
        )

    def differing_labels(self, found: np.ndarray) -> np.ndarray:
        """Return whether each label is another than the model's."""
        versions = [self._model.predict(X) for X in self._versions]
        return np.all([_differ(found, wanted) for wanted in versions], axis=0)

    @property
    def is_clear(self) -> np.ndarray:
        """Whether rounding cannot change the label of each row."""
        has_values = hasattr(self._model, "decision_function")
        name = "scores" if has_values else "probabilities"
        values = self._wanted(name, self._versions[0])
        ordered = np.sort(values, axis=1)
        margins = ordered[:, -1] - ordered[:, -2]
        sizes = self._sizes(name, values).max(axis=1)
        return np.asarray(margins > 2.0 * self._tolerance * sizes)

    def _wanted(self, name: str, X: Any) -> np.ndarray:
        model = self._model
        if name == "probabilities":
            return np.asarray(model.predict_proba(X))
        if name == "scores":
            values = np.asarray(model.decision_function(X))
            return np.stack([-values, values], axis=1) if values.ndim == 1 else values
        answer = model.predict if hasattr(model, "predict") else model.transform
        numbers = np.array(answer(X), dtype=np.float64)
        return numbers[:, None] if numbers.ndim == 1 else numbers

    def _sizes(self, name: str, wanted: np.ndarray) -> np.ndarray:
        """Return the sum of the absolute terms of each number."""
        if self._formula is None:
            largest = np.abs(wanted).max(initial=1e-300)
            return np.full(wanted.shape, largest)
        sizes = _absolute_terms(self._formula, self._versions[0])
        if name == "probabilities":
            return np.asarray(1.0 + sizes.max(axis=1, keepdims=True))
        if self._formula.answer.link == "exp":
            return np.asarray((1.0 + sizes) * np.abs(wanted))
        return sizes


def _absolute_terms(formula: Formula, X: Any) -> np.ndarray:
    """Return |b| + Σ |α_i v_i(x)| for each output, (n, T)."""
    Z = formula.prepared(formula.coded(X))
    sizes = np.tile(np.abs(formula.intercept), (len(Z), 1))
    first = 0
    for group in formula.groups:
        last = first + group.n_functions
        sizes += np.abs(group(Z)) @ np.abs(formula.coef[:, first:last]).T
        first = last
    return sizes


def _gaps(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return absolute differences; infinite where only one is NaN."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(found - wanted)
    gaps[np.isnan(gaps)] = np.inf
    is_equal = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    return np.where(is_equal, 0.0, gaps)


def _differ(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if found.dtype.kind in "OU":
        return np.asarray(found.astype(str) != np.asarray(wanted).astype(str))
    return np.asarray(found.astype(np.float64) != wanted.astype(np.float64))
