"""Table 11.1: digits classified by local hyperplanes and hulls, KNN and SVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pursuit import CKNNClassifier, HKNNClassifier
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.methods import machines
from reproduction.methods.neighbor_choices import CHOICES, Labeled, Params
from reproduction.methods.rivals import USPS_LANDMARKS, landmark_regression
from reproduction.protocols.digit_images import QUICK_SIZES, SIZES, parts, percent
from reproduction.reporting import (
    FEWER,
    IN_ORDER,
    INSIDE,
    OTHER_CHOICE,
    UNKNOWN,
    chance,
    dots,
    labeled,
    parameter_text,
    runs,
)

CODE_VERSION = 1

# Hyper-parameters and test errors in percent of Table 11.1.
PUBLISHED: dict[str, dict[str, tuple[Params, float]]] = {
    "usps": {
        "KNN": ({"K": 1}, 4.98),
        "SVM": ({"sigma": 8.0, "C": 100.0}, 4.33),
        "HKNN": ({"K": 15, "penalty": 30.0}, 3.93),
        "CKNN": ({"K": 20}, 3.98),
    },
    "mnist": {
        "KNN": ({"K": 3}, 2.95),
        "SVM": ({"sigma": 6.47, "C": 100.0}, 1.30),
        "HKNN": ({"K": 65, "penalty": 10.0}, 1.26),
        "CKNN": ({"K": 70}, 1.46),
    },
}
# Penalties compared on validation rows; the papers do not state their grids. KNN
# compares every K up to 10, the other methods every K up to 80.
PENALTIES = {
    "usps": [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0],
    "mnist": [0.0, 1.0, 3.0, 10.0, 30.0, 100.0],
}
MACHINE_GRID: dict[str, Params] = {
    "usps": {"sigmas": [4.0, 5.66, 8.0, 11.3], "Cs": [1.0, 10.0, 100.0]},
    "mnist": {"sigmas": [4.5, 6.47, 9.0], "Cs": [10.0, 100.0]},
}
# Number of training rows for machines in the comparison; the final one gets all.
COMPARED_ROWS = {"usps": 6291, "mnist": 10000}
QUICK_COMPARED_ROWS = 500
# Today's methods, with the parameters compared on the validation rows.
RIVALS: dict[str, dict[str, dict[str, list[Any]]]] = {
    "usps": {
        "KNN, weighted by distance": {"n_neighbors": [1, 3, 4, 5, 7, 9]},
        "SVC, one against one": {
            "C": [1.0, 10.0, 100.0],
            "gamma": [1 / 128, 1 / 64, 1 / 32],
        },
        "Nystroem + logistic regression": USPS_LANDMARKS,
        "HKNNClassifier()": {},
        "CKNNClassifier()": {},
    },
    "mnist": {
        "KNN, weighted by distance": {"n_neighbors": [3, 4, 5, 6]},
        "Nystroem + logistic regression": {
            "nystroem__gamma": [1 / 84, 1 / 42],
            "logisticregression__C": [10.0, 100.0, 1000.0],
            "logisticregression__tol": [1e-5],
        },
        "HKNNClassifier()": {},
        "CKNNClassifier()": {},
    },
}
NOTES = (
    "Percentages are cut after two decimals, as those of the paper are.",
    (
        "USPS is smoothed (Gaussian filter of 0.75 pixel), MNIST scaled to [0, 1]; "
        "models are fitted to training and validation rows once their parameters are "
        "chosen; the distance of HKNN includes the penalty. The machines are "
        "one-versus-rest with kernel exp(-d²/σ²)."
    ),
)
NAMES = {"usps": "USPS", "mnist": "MNIST"}
WHY = {
    "SVM": "the paper's solver and its tolerance are unknown",
}

MODELS: dict[str, Callable[..., Any]] = {
    "KNN": lambda K: KNeighborsClassifier(K, algorithm="brute"),
    "SVM": machines.OneVersusRest,
    "HKNN": lambda K, penalty: HKNNClassifier(K, penalty, loo_samples=0),
    "CKNN": lambda K: CKNNClassifier(K, loo_samples=0),
}
# Today's methods, as functions of the number of training rows.
RIVAL_MODELS: dict[str, Callable[[int], Any]] = {
    "KNN, weighted by distance": lambda n_rows: KNeighborsClassifier(
        weights="distance", algorithm="brute"
    ),
    "SVC, one against one": lambda n_rows: SVC(cache_size=500),
    "Nystroem + logistic regression": landmark_regression,
    "HKNNClassifier()": lambda n_rows: HKNNClassifier(),
    "CKNNClassifier()": lambda n_rows: CKNNClassifier(),
}


# -- tasks ---------------------------------------------------------------------------


def measure(
    name: str, sizes: list[int], method: str, published: Params, grid: Params
) -> dict[str, Any]:
    """Choose parameters on the validation rows, fit to all but the test rows, and test.

    The published parameters are tested as well.
    """
    digits = parts(name, sizes)
    choice = CHOICES[method](
        (digits.X, digits.y), (digits.X_valid, digits.y_valid), published, **grid
    )
    test = (digits.X_test, digits.y_test)
    settings = [published]
    settings += [choice.params] if choice.params != published else []
    errors = [_tested(MODELS[method](**p), digits.everything(), test) for p in settings]
    return {
        "chosen": choice.params,
        "validation_errors": choice.errors,
        "published_validation_errors": choice.published_errors,
        "validation_table": choice.table,
        "published": published,
        "test_errors": {"published": errors[0], "chosen": errors[-1]},
        "n_validation": len(digits.y_valid),
        "n_test": len(digits.y_test),
    }


def measure_rival(
    name: str, sizes: list[int], model: str, grid: dict[str, list[Any]]
) -> dict[str, Any]:
    """Do the same for one of today's methods, or a default of this library."""
    digits = parts(name, sizes)
    trials = []
    for params in ParameterGrid(grid) if grid else ():
        estimator = RIVAL_MODELS[model](len(digits.X)).set_params(**params)
        valid = (digits.X_valid, digits.y_valid)
        errors = _tested(estimator, (digits.X, digits.y), valid)
        trials.append({"params": params, "errors": errors})
    chosen = min(trials, key=lambda t: t["errors"])["params"] if trials else {}
    estimator = RIVAL_MODELS[model](len(digits.X)).set_params(**chosen)
    test = (digits.X_test, digits.y_test)
    return {
        "chosen": chosen,
        "validation": trials,
        "test_errors": _tested(estimator, digits.everything(), test),
        "n_test": len(digits.y_test),
    }


def _tested(model: Any, train: Labeled, test: Labeled) -> int:
    return int((model.fit(*train).predict(test[0]) != test[1]).sum())


def _sizes(name: str, quick: bool) -> list[int]:
    return (QUICK_SIZES if quick else SIZES)[name]


def _grid(name: str, method: str, quick: bool) -> Params:
    if method == "SVM":
        n_rows = QUICK_COMPARED_ROWS if quick else COMPARED_ROWS[name]
        return {**MACHINE_GRID[name], "n_rows": n_rows}
    return {"penalties": PENALTIES[name]} if method == "HKNN" else {}


def _tasks(quick: bool) -> list[Task]:
    tasks = []
    for name, methods in PUBLISHED.items():
        sizes = _sizes(name, quick)
        for method, (published, _) in methods.items():
            arguments = {
                "name": name,
                "sizes": sizes,
                "method": method,
                "published": published,
                "grid": _grid(name, method, quick),
            }
            tasks.append(Task(f"{name}/{method}", measure, arguments, (name,)))
        for model, grid in RIVALS[name].items():
            arguments = {"name": name, "sizes": sizes, "model": model, "grid": grid}
            tasks.append(Task(f"{name}/{model}", measure_rival, arguments, (name,)))
    return tasks


# -- reports -------------------------------------------------------------------------


def _report(results: Mapping[str, dict[str, Any]]) -> Report:
    rows: list[Row] = []
    notes: list[str] = []
    for name, methods in PUBLISHED.items():
        for method, (_, figure) in methods.items():
            if result := results.get(f"{name}/{method}"):
                rows += _published_rows(name, method, figure, result)
                notes.append(_validation_note(name, method, result))
        rows += _rival_rows(name, results)
    notes += [*NOTES, *_machine_notes(results), *_chance_notes(results)]
    return Report(rows, notes, dots(rows, "test error, %"))


def _published_rows(
    name: str, method: str, figure: float, result: dict[str, Any]
) -> Iterator[Row]:
    is_whole = result["n_test"] == SIZES[name][2]
    for how, params in runs(result["chosen"], result["published"]).items():
        is_published = params == result["published"]
        key = "published" if is_published else "chosen"
        why = WHY.get(method, UNKNOWN) if is_published else OTHER_CHOICE
        yield Row(
            labeled(f"{NAMES[name]}, {method}", params, how),
            "test error, %",
            percent(result["test_errors"][key], result["n_test"]),
            published=figure,
            why=why if is_whole else FEWER,
        )


def _validation_note(name: str, method: str, result: dict[str, Any]) -> str:
    start = (
        f"{NAMES[name]}, {method}: validation chose {parameter_text(result['chosen'])} "
        f"({result['validation_errors']} mistakes of {result['n_validation']})"
    )
    if result["chosen"] == result["published"]:
        return f"{start}, the published values."
    at = result["published_validation_errors"]
    return f"{start}; the published {parameter_text(result['published'])} make {at}."


def _rival_rows(name: str, results: Mapping[str, dict[str, Any]]) -> Iterator[Row]:
    for model in RIVALS[name]:
        if result := results.get(f"{name}/{model}"):
            error = percent(result["test_errors"], result["n_test"])
            yield Row(f"{NAMES[name]}, {model}", "test error, %", error)


def _machine_notes(results: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    if result := results.get("mnist/SVM"):
        is_whole = result["n_test"] == SIZES["mnist"][2]
        n_rows = COMPARED_ROWS["mnist"] if is_whole else QUICK_COMPARED_ROWS
        yield (
            f"On MNIST, σ and C are compared with the first {n_rows} training rows, "
            "and the final machine gets all."
        )


def _chance_notes(results: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Yield sentences on how much of an error rate is due to the choice of rows."""
    for name in PUBLISHED:
        if result := results.get(f"{name}/HKNN"):
            errors = result["test_errors"]["published"]
            yield chance(NAMES[name], errors, result["n_test"])


EXPERIMENTS = (
    Experiment(
        "table-11.1",
        "Local hyperplanes and hulls on digits",
        "Vincent (2003), Table 11.1",
        needs=("usps", "mnist"),
        tasks=_tasks,
        report=_report,
        seeds=f"{IN_ORDER} Seed 0 draws the first chunk of the SVM on MNIST. {INSIDE}",
    ),
)
