"""What a page holds, as plain values: numbers, words, lists and arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from pursuit._parameters import check_flag, random_numbers, whole_number
from pursuit.export import Formula, UnsupportedError

from . import facts
from .columns import column_shares, columns
from .judging import ClassJudge, NumberJudge, Prediction, judge_for, of_model
from .judging import predictions as staged_predictions
from .points import Training, points
from .stages import (
    Stage,
    chosen_sizes,
    last_step,
    n_numbers,
    path_formula,
    shown_sizes,
    stages,
    without_nesting,
)

__all__ = ["Options", "contents"]

# Bytes that points, and rows, may take in the page as text.
POINT_BYTES = 120_000
ROW_BYTES = 100_000
# A float64 as base64.
NUMBER_BYTES = 8 * 4 / 3
MAX_COLUMNS = 1000
MAX_CURVE = 300


@dataclass(frozen=True)
class Options:
    """What a report is asked for; see `pursuit.report.write`."""

    title: str | None = None
    is_held_out: bool = True
    X_train: Any = None
    y_train: Any = None
    feature_names: Any = None
    target_names: Any = None
    date_columns: Any = ()
    rows: int = 200
    random_state: Any = 0

    def checked(self) -> Options:
        """Return the options; raise a ValueError for one that cannot be."""
        check_flag("is_held_out", self.is_held_out)
        whole_number("rows", self.rows, 0)
        if self.y_train is not None and self.X_train is None:
            raise ValueError("y_train is for the rows of X_train: pass both.")
        return self


def contents(model: Any, X: Any, y: Any, options: Options) -> dict[str, Any]:
    """Return everything that the page of a fitted model holds."""
    options = options.checked()
    model = _reportable(model)
    last = last_step(model)
    largest, sizes = _sizes(last)
    formula, order = path_formula(model, largest)
    coded = _coded(formula, X)
    judge = judge_for(last, y)
    if len(judge.targets) != len(coded):
        raise ValueError(f"X has {len(coded)} rows, but y has {len(judge.targets)}.")
    Z = _prepared(model, X)
    shown = stages(last, sizes)
    errors, figures = _judged(last, Z, judge, shown)
    training = _training(model, formula, judge, coded, Z, options)
    formula = _renamed(formula, options.feature_names)
    shares = _shares(last, formula, coded)
    ranked = np.arange(coded.shape[1]) if shares is None else np.argsort(-shares)
    functions = last.truncate(largest).atoms_
    shown_points = points(model, formula, functions, training, ranked)
    is_doubtful = _is_doubtful(shown_points, options)
    return {
        "title": options.title or type(last).__name__,
        "task": "classes" if is_classifier(last) else "numbers",
        "estimator": type(last).__name__,
        "formula": formula,
        "order": order,
        "stages": [
            _stage(stage, formula, each)
            for stage, each in zip(shown, figures, strict=True)
        ],
        "chosen": next(i for i, stage in enumerate(shown) if stage.is_chosen),
        "path": {"steps": len(last.path_), "shown": largest},
        "curve": {"name": judge.name, **_curve(errors, sizes)},
        "outputs": _output_names(y, judge, options),
        "columns": columns(formula, coded, _date_columns(formula, options)),
        "shares": None if shares is None else shares.tolist(),
        "rows": _rows(last, Z, coded, judge, options),
        "points": shown_points,
        "isHeldOut": bool(options.is_held_out),
        "isDoubtful": is_doubtful,
        "facts": _facts(model, options),
    }


def _reportable(model: Any) -> Any:
    """Return the model or pipeline; raise an error that says what has a report."""
    model = without_nesting(model)
    last = last_step(model)
    is_judged_by_rows = is_classifier(last) or is_regressor(last)
    if not is_judged_by_rows or not hasattr(last, "truncate"):
        raise UnsupportedError(
            f"There is no report of {type(last).__name__}: its page would judge rows "
            "by themselves, and have to run the model. KMPClassifier and KMPRegressor "
            "have one, and pipelines and searches that end in one, also within each "
            "other."
        )
    return model


def _sizes(last: Any) -> tuple[int, list[int]]:
    """Return the number of steps that the page holds, and the sizes that it shows."""
    chosen, length = chosen_sizes(last), len(last.path_)
    fitting = int(POINT_BYTES // (NUMBER_BYTES * max(1, last.n_features_in_)))
    largest = min(length, max(fitting, *chosen))
    return largest, shown_sizes(largest, chosen, len(last.intercept_))


def _coded(formula: Formula, X: Any) -> np.ndarray:
    if len(formula.inputs) > MAX_COLUMNS:
        raise UnsupportedError(
            f"The model has {len(formula.inputs)} columns, a page can show "
            f"{MAX_COLUMNS}: choose columns before the fit."
        )
    coded = formula.coded(X)
    if not len(coded):
        raise ValueError("X has no rows: a report judges the model on some.")
    return coded


def _prepared(model: Any, X: Any) -> Any:
    return model[:-1].transform(X) if last_step(model) is not model else X


def _judged(
    last: Any, Z: Any, judge: ClassJudge | NumberJudge, shown: Sequence[Stage]
) -> tuple[list[float], list[dict[str, Any]]]:
    """Return the error at each size of the path, and the figures of the stages."""
    errors = []
    by_steps: dict[int | None, dict[str, Any]] = {}
    wanted = {stage.steps for stage in shown}
    for size, prediction in enumerate(staged_predictions(last, Z)):
        errors.append(judge.error(prediction))
        if size in wanted:
            by_steps[size] = _figures(judge, prediction)
    if None in wanted:
        by_steps[None] = _figures(judge, of_model(last, Z))
    return errors, [by_steps[stage.steps] for stage in shown]


def _figures(judge: ClassJudge | NumberJudge, prediction: Prediction) -> dict[str, Any]:
    return {"error": judge.error(prediction), **judge.judge(prediction)}


def _curve(errors: Sequence[float], sizes: Sequence[int]) -> dict[str, Any]:
    """Return the error curve, thinned if it is long; shown sizes always stay."""
    n = len(errors)
    kept = np.arange(n)
    if n > MAX_CURVE:
        spaced = np.geomspace(1, n, MAX_CURVE).astype(int) - 1
        kept = np.union1d(spaced, [*sizes])
    return {"sizes": kept.tolist(), "errors": np.asarray(errors)[kept].tolist()}


def _stage(stage: Stage, formula: Formula, figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "steps": stage.steps,
        "points": stage.n_points,
        "coef": stage.coef,
        "intercept": stage.intercept,
        "numbers": n_numbers(formula, stage),
        **figures,
    }


def _shares(last: Any, formula: Formula, coded: np.ndarray) -> np.ndarray | None:
    """Return the importances of the raw columns, None if the model has none."""
    importances = getattr(last, "feature_importances_", None)
    if importances is None:
        return None
    return column_shares(formula, coded, importances)


def _training(
    model: Any,
    formula: Formula,
    judge: ClassJudge | NumberJudge,
    coded: np.ndarray,
    Z: Any,
    options: Options,
) -> Training:
    """Return the rows among which the points are looked for."""
    X, y = options.X_train, options.y_train
    if X is None:
        return Training(coded, Z, judge.targets, is_given=False)
    rows = formula.coded(X)
    targets = None if y is None else judge.of_same_kind(y).targets
    if targets is not None and len(targets) != len(rows):
        raise ValueError(f"X_train has {len(rows)} rows, but y_train {len(targets)}.")
    return Training(rows, _prepared(model, X), targets, is_given=True)


def _renamed(formula: Formula, names: Any) -> Formula:
    """Return the formula with other names of its columns, if there are some."""
    if names is None:
        return formula
    names = [str(name) for name in names]
    if len(names) != len(formula.inputs):
        raise ValueError(
            f"feature_names has {len(names)} names, but the model "
            f"{len(formula.inputs)} columns."
        )
    pairs = zip(formula.inputs, names, strict=True)
    return replace(formula, inputs=tuple(replace(each, name=n) for each, n in pairs))


def _date_columns(formula: Formula, options: Options) -> set[str]:
    """Return the names of columns that are dates; raise if they cannot be."""
    names = set(map(str, options.date_columns))
    numbers = {each.name for each in formula.inputs if each.categories is None}
    if not names <= numbers:
        unknown = sorted(names - numbers)[0]
        raise ValueError(f"date_columns: {unknown!r} is not a column of numbers.")
    return names


def _is_doubtful(shown_points: dict[str, Any], options: Options) -> bool:
    """Return whether rows that are said to be held out hold the model's points."""
    are_training = shown_points["areRows"] and options.X_train is None
    if not (are_training and options.is_held_out):
        return False
    warnings.warn(
        "X holds the model's support points, in their places: the fit has probably "
        "seen these rows. Pass is_held_out=False, or other rows.",
        UserWarning,
        stacklevel=5,
    )
    return True


def _rows(
    last: Any,
    Z: Any,
    coded: np.ndarray,
    judge: ClassJudge | NumberJudge,
    options: Options,
) -> dict[str, Any]:
    """Return the rows that the page holds, with what the model says about them."""
    n, d = coded.shape
    most = min(options.rows, n, max(20, int(ROW_BYTES // (NUMBER_BYTES * max(1, d)))))
    rng = random_numbers(options.random_state)
    kept = np.sort(rng.permutation(n)[:most])
    values = last.decision_function(Z) if is_classifier(last) else last.predict(Z)
    return {
        "n": n,
        "numbers": kept.tolist(),
        "X": coded[kept],
        "targets": judge.targets[kept],
        "values": np.asarray(values, dtype=np.float64).reshape(n, -1)[kept],
    }


def _output_names(
    y: Any, judge: ClassJudge | NumberJudge, options: Options
) -> dict[str, Any]:
    """Return the name of the target, and of each output or class."""
    given = _given_names(y, options)
    if isinstance(judge, ClassJudge):
        labels = [str(label) for label in judge.classes.tolist()]
        return {"target": given[0] if given else "class", "names": labels}
    n = judge.targets.shape[1]
    default = ["target"] if n == 1 else [f"target {t}" for t in range(n)]
    names = given or default
    if len(names) != n:
        raise ValueError(f"target_names has {len(names)} names, but y {n} columns.")
    return {"target": names[0], "names": names}


def _given_names(y: Any, options: Options) -> list[str]:
    """Return the names that the caller or y give to targets; none if there are none."""
    given = options.target_names
    if given is None and getattr(y, "name", None) is not None:
        given = [y.name]
    if given is None:
        given = getattr(y, "columns", ())
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _facts(model: Any, options: Options) -> dict[str, Any]:
    return {
        "parameters": facts.parameters(model),
        "fitted": facts.fitted_facts(model),
        "search": facts.search(model),
        "versions": facts.versions(),
        "code": facts.recipe(model, options.X_train is not None),
        "randomState": repr(getattr(last_step(model), "random_state", None)),
        "date": datetime.now(UTC).date().isoformat(),
        "hasTraining": options.X_train is not None,
    }
