"""Records of the kernel matching pursuit estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pursuit.calibration import Isotonic, Temperature
from pursuit.estimators.kmp import KMPClassifier, KMPRanker, KMPRegressor
from pursuit.estimators.kmp.attributes import path_attributes
from pursuit.estimators.kmp.outputs import ClassOutputs, NumberOutputs, RankOutputs
from pursuit.expansions import Expansion
from pursuit.fitting.curves import HeldOutError
from pursuit.fitting.held_out import FoldPath
from pursuit.functions import Functions
from pursuit.path import Path, SeparatePaths
from pursuit.sample import Framer

from ._fitted import Attributes, estimator, read_classes
from ._functions import check_columns
from ._held_out import check_folds
from ._kernels import check_loss
from .tree import Fields, Names, Record

__all__ = ["RECORDS"]


def _take(model: Any) -> Mapping[str, Any]:
    shared = {
        "path": model.path_,
        "functions": model._path_functions,
        "sizes": list(model._sizes),
        "coef": model.dual_coef_,
        "intercept": model.intercept_,
        "loss": model.loss_,
        "alpha": model.alpha_,
        "gamma": model.gamma_,
        "is_matrix": bool(model._was_matrix),
        "n_candidates": model._n_candidates,
        "n_rows": model._n_rows,
        "selection": model.selection_,
        "stop_reason": model.stop_reason_,
        "size_reason": model.size_reason_,
        "held_out": model._held_out,
        "search": [Names(trial) for trial in model.search_],
        "importances": model._importances,
        "framer": model._framer,
        "folds": list(model._folds),
    }
    if isinstance(model, KMPClassifier):
        calibration = model._outputs.calibration
        return {**shared, "classes": model.classes_, "calibration": calibration}
    if isinstance(model, KMPRanker):
        return shared
    return {**shared, "is_single": bool(model._outputs.is_single)}


def _make(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    attributes = _read_path(fields)
    functions = attributes["_path_functions"]
    check_columns(functions, d, fields.name)
    loss = fields.any("loss")
    check_loss(loss, fields.name)
    outputs = _read_outputs(model, loss, len(attributes["intercept_"]), fields)
    importances = fields.array("importances", "f", d, optional=True)
    # Older files have no folds.
    folds = fields.all_of("folds", FoldPath) if fields.has("folds") else []
    check_folds(folds, attributes["path_"], d, fields.name)
    more: Attributes = {
        "_outputs": outputs,
        "_was_matrix": fields.flag("is_matrix"),
        "_n_candidates": fields.whole("n_candidates"),
        "_n_rows": fields.whole("n_rows"),
        "_importances": importances,
        "_framer": fields.only("framer", Framer, optional=True),
        "alpha_": fields.number("alpha"),
        "gamma_": fields.number("gamma", optional=True),
        "loss_": loss,
        "selection_": fields.text("selection", optional=True),
        "stop_reason_": fields.text("stop_reason"),
        "size_reason_": fields.text("size_reason"),
        "_held_out": fields.only("held_out", HeldOutError, optional=True),
        "_folds": folds,
        "search_": [dict(trial) for trial in fields.all_of("search", Names)],
    }
    if isinstance(outputs, ClassOutputs):
        more["classes_"] = outputs.classes
    return {**attributes, **more}


def _read_path(fields: Fields) -> Attributes:
    """Return path, functions, and the coefficients at the chosen size."""
    path = fields.only("path", Path, SeparatePaths)
    functions = fields.only("functions", Functions)
    sizes = fields.only("sizes", list)
    lengths = [len(p) for p in path.paths]
    is_right = len(sizes) == len(lengths) and all(
        type(size) is int and 0 <= size <= length
        for size, length in zip(sizes, lengths, strict=True)
    )
    if not is_right:
        raise fields.error("sizes", "are not on the path")
    if len(functions) != len(path.support):
        raise fields.error("functions", "are not those of the path")
    n_outputs = sum(p.n_outputs for p in path.paths)
    intercept = fields.array("intercept", "f", n_outputs)
    attributes = path_attributes(path, sizes, functions)
    # As they were written: to solve for them again may round differently elsewhere.
    coef = fields.array("coef", "f", *attributes["dual_coef_"].shape)
    chosen = attributes["_expansion"].functions
    return {
        **attributes,
        "dual_coef_": coef,
        "intercept_": intercept,
        "_expansion": Expansion(chosen, coef, intercept),
    }


def _read_outputs(model: Any, loss: Any, n_outputs: int, fields: Fields) -> Any:
    if isinstance(model, KMPRegressor):
        is_single = fields.flag("is_single")
        if is_single and n_outputs != 1:
            raise fields.error("is_single", f"is wrong: there are {n_outputs} outputs")
        return NumberOutputs(loss, is_single)
    if isinstance(model, KMPRanker):
        if n_outputs != 1:
            raise fields.error("intercept", f"is wrong: there are {n_outputs} outputs")
        return RankOutputs(loss, is_single=True)
    classes = read_classes(fields, "classes")
    wanted = 1 if len(classes) == 2 else len(classes)
    if n_outputs != wanted:
        raise fields.error("classes", f"are not for {n_outputs} outputs")
    if not loss.fits_classes:
        raise fields.error("loss", "is not for classes")
    calibration = None
    if fields.has("calibration"):
        calibration = fields.only("calibration", Temperature, Isotonic)
        if isinstance(calibration, Isotonic) and len(calibration.values) != wanted:
            raise fields.error("calibration", f"is not for {wanted} outputs")
    return ClassOutputs(classes, loss, calibration)


def _is_fitted(model: Any) -> bool:
    return hasattr(model, "dual_coef_")


def _take_held_out(value: HeldOutError) -> Mapping[str, Any]:
    return {
        "error": float(value.error),
        "standard_error": value.standard_error,
        "of_constant": float(value.of_constant),
        "is_score": bool(value.is_score),
    }


def _make_held_out(fields: Fields) -> HeldOutError:
    return HeldOutError(
        error=fields.number("error", finite=False),
        standard_error=fields.number("standard_error", finite=False, optional=True),
        of_constant=fields.number("of_constant", finite=False),
        is_score=fields.flag("is_score"),
    )


RECORDS = (
    *(
        estimator("kmp", kind, _take, _make, _is_fitted)
        for kind in (KMPClassifier, KMPRanker, KMPRegressor)
    ),
    Record("kmp.HeldOutError", HeldOutError, _take_held_out, _make_held_out),
)
