"""Write a fitted model, or a pipeline with one, as an ONNX graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from warnings import catch_warnings, filterwarnings

from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_choice, is_whole
from pursuit._warnings import warn
from pursuit._writing import write_whole
from pursuit.export.errors import UnsupportedError

from .checking import Agreement, check_onnx, drawn_rows, last_step
from .extra import needed
from .formulas import formula_for, outputs_of, whole_formula
from .graph import written_graph
from .pipelines import converted

__all__ = ["to_onnx"]

# Single precision is said to lose digits if fewer than these remain.
_FEW_DIGITS = 3
_FIRST_OPSET = 13


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float64",
    check: Any = None,
    outputs: Sequence[str] | None = None,
    opset: int = 17,
) -> Any:
    """Return a fitted model, or a pipeline with one, as an ONNX graph.

    The graph is run in onnxruntime on some rows and compared with the model before it
    is returned.

    Parameters
    ----------
    model : estimator
        Fitted `KMPClassifier`, `KMPRanker`, `KMPRegressor`, `SparseKernelPCA` or
        `LearnedMetric`; a pipeline of these and of scikit-learn's preprocessing, or of
        other steps that skl2onnx knows; or a search that refitted one.
    path : path, optional
        File to write, such as "model.onnx".
    dtype : {"float64", "float32"}, default="float64"
        Precision of the graph's inputs, numbers and answers.
    check : array-like, data frame or False, optional
        Rows on which the graph and the model are compared; held-out rows are best. By
        default they are drawn around the support points. False: no check.
    outputs : sequence of {"label", "probabilities", "scores", "variable"}, optional
        Answers of the graph. A classifier has "label" (n,), "probabilities"
        (n, n_classes) if its loss gives some, and decision values "scores"
        (n, n_classes), of two classes -f and f; by default the first two of these.
        Others have "variable" (n, n_outputs).
    opset : int, default=17
        Version of the operators, at least 13. Runtimes since 2022 know 17.

    Returns
    -------
    proto : onnx.ModelProto
        The graph. Its ``metadata_props`` say how well it agrees with the model.

    Raises
    ------
    UnsupportedError
        If a part of the model has no graph.
    RuntimeError
        If the graph's answers differ from the model's by more than rounding explains.

    Warns
    -----
    UserWarning
        If fewer than 3 digits agree, as in single precision with large coefficients.

    See Also
    --------
    check_onnx : Compares a graph with its model on other rows.
    onnx_inputs : Rows as onnxruntime takes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import KMPClassifier
    >>> from pursuit.export import check_onnx, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KMPClassifier("rbf", gamma=0.5, max_support=10).fit(X, y)
    >>> proto = to_onnx(model)  # doctest: +SKIP
    >>> check_onnx(model, proto, X).n_labels  # doctest: +SKIP
    0
    """
    check_choice("dtype", dtype, ("float64", "float32"))
    _check_opset(opset)
    model = _searched(model)
    check_is_fitted(model)
    _check_supported(model)
    outputs = _checked_outputs(model, outputs)
    rows = _rows(model, check)
    proto = _written(model, rows, dtype, outputs, opset)
    _describe(proto, model)
    if check is not False:
        _keep_agreement(proto, model, _compared(model, proto, rows))
    needed("onnx").checker.check_model(proto, full_check=True)
    if path is not None:
        write_whole(path, proto.SerializeToString())
    return proto


def _written(
    model: Any, rows: Any, dtype: str, outputs: Sequence[str] | None, opset: int
) -> Any:
    """Return the graph: of the model's formula, or else as skl2onnx assembles it."""
    formula = whole_formula(model)
    if formula is None:
        return converted(model, rows, dtype, outputs, opset)
    names = outputs_of(formula.answer)[:2] if outputs is None else outputs
    return written_graph(formula, dtype, names, opset)


def _compared(model: Any, proto: Any, rows: Any) -> Agreement:
    with catch_warnings():
        # Rows that were drawn have no names, also if those of the fit had some.
        filterwarnings("ignore", "X does not have valid feature names")
        return check_onnx(model, proto, rows)


def _rows(model: Any, check: Any) -> Any:
    if check is False:
        return None
    return drawn_rows(model) if check is None else check


def _searched(model: Any) -> Any:
    """Return the best estimator of a search."""
    return getattr(model, "best_estimator_", model)


def _check_opset(opset: Any) -> None:
    last = needed("onnx").defs.onnx_opset_version()
    if not is_whole(opset, _FIRST_OPSET) or opset > last:
        raise ValueError(
            f"opset={opset!r} must be a whole number from {_FIRST_OPSET} to {last}, "
            "the last that the installed onnx knows."
        )


def _check_supported(model: Any) -> None:
    """Refuse estimators of the library that have no graph."""
    parts = list(_parts(model))
    for part in parts:
        is_ours = type(part).__module__.startswith("pursuit.")
        if is_ours and not hasattr(part, "onnx_converter"):
            raise UnsupportedError(
                f"{type(part).__name__} cannot be written as ONNX: KMPClassifier, "
                "KMPRanker, KMPRegressor, SparseKernelPCA and LearnedMetric can, and "
                "pipelines of them. Save it with model.save(path) instead."
            )


def _parts(model: Any) -> Any:
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from _parts(step)
    elif isinstance(model, FeatureUnion):
        for _, part in model.transformer_list:
            yield from _parts(part)
    elif hasattr(model, "transformers_"):
        for _, part, _ in model.transformers_:
            yield from _parts(part)
    else:
        yield model


def _checked_outputs(model: Any, outputs: Any) -> Sequence[str] | None:
    if outputs is None:
        return None
    formula = whole_formula(model)
    last = last_step(model)
    if formula is None and hasattr(last, "onnx_converter"):
        formula = formula_for(last)
    if formula is None:
        raise ValueError(
            f"outputs={outputs!r} cannot be chosen for {type(last).__name__}, which "
            "skl2onnx converts: leave it out."
        )
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    known = outputs_of(formula.answer)
    if not names or not set(names) <= set(known) or len(set(names)) < len(names):
        raise ValueError(
            f"outputs={outputs!r} must be some of those that this model has: "
            + ", ".join(repr(name) for name in known)
            + "."
        )
    return names


def _describe(proto: Any, model: Any) -> None:
    from pursuit import __version__

    last = last_step(model)
    proto.producer_name, proto.producer_version = "pursuit", __version__
    _set(proto, "model", type(last).__name__)
    if hasattr(last, "onnx_converter"):
        _set(proto, "functions", str(formula_for(last).n_functions))
    for name, word in (("kernel_", "kernel"), ("kernel", "kernel")):
        if hasattr(last, name):
            _set(proto, word, " ".join(repr(getattr(last, name)).split())[:500])
            break


def _keep_agreement(proto: Any, model: Any, agreement: Agreement) -> None:
    """Note the agreement in the graph; tell if it is poor."""
    if not agreement.is_explained:
        raise RuntimeError(
            f"The graph does not agree with the model on {agreement}; rounding does "
            f"not explain that. {_reason(model, agreement)} With check=False you get "
            "the graph as it is."
        )
    if agreement.digits < _FEW_DIGITS:
        warn(
            f"Compared on {agreement}. {_largest(last_step(model))}"
            "A graph in double precision, or a model fitted with a larger alpha, "
            "keeps more."
        )
    _set(proto, "agreement", str(agreement))


def _reason(model: Any, agreement: Agreement) -> str:
    if whole_formula(model) is None:
        return (
            "A step that skl2onnx writes in single precision, or not as scikit-learn "
            "computes it, may be the reason: export the pipeline without its last "
            "steps to find it."
        )
    if agreement.precision == "float32":
        return "A step that jumps or magnifies may be the reason: try dtype='float64'."
    return "Please report this."


def _largest(model: Any) -> str:
    if not hasattr(model, "dual_coef_"):
        return ""
    largest = float(abs(model.dual_coef_).max(initial=0.0))
    return f"The largest coefficient is {largest:.1e}. "


def _set(proto: Any, key: str, value: str) -> None:
    entry = proto.metadata_props.add()
    entry.key, entry.value = key, value
