"""What mypy makes of programs that use the library."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import pursuit
from pursuit import _words, losses
from pursuit.bounds.paths import KINDS
from pursuit.estimators.metric import TASKS
from pursuit.kernels.given import NAMED
from pursuit.kernels.widths import RULES
from pursuit.methods import as_method
from pursuit.metrics import as_metric
from pursuit.selection import as_selection

NEEDS_DENSITY = ("DensityClassifier", "DensityOutlierDetector")

PROGRAM = """
import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
import pursuit
from pursuit import *
from pursuit.dictionaries import ManyWidths
from pursuit.kernels import Gaussian, Polynomial
from pursuit.losses import Huber, Logistic
from pursuit.methods import PreFitting, Redrawn
from pursuit.metrics import Best

X, y = np.eye(4), np.arange(4)


def my_kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.asarray(X @ Y.T)


# Words, objects and numbers are all taken.
KMPClassifier("rbf", gamma="scale", loss="logistic", method="basic", selection=None)
KMPClassifier(Gaussian("cv") + Polynomial(), loss=Logistic(), metric=Best())
KMPClassifier(my_kernel, class_weight={0: 2.0}, n_candidates=Redrawn(59))
KMPRegressor(RBF(), loss=Huber(1.0), selection=CrossValidation(n_folds=3))
KMPRegressor(gamma=0.5, alpha=0.1, method=PreFitting(5), dtype=np.float32)
KMPRegressor(metric=np.ones(4), dictionary=ManyWidths(), loss="huber")
HKNNClassifier("auto", "scale")
SparseKernelCCA(kernel_y="linear", gamma_y="same", criterion="covariance")
ManifoldParzen("auto", None, 0.5, "hard")
LearnedMetric("full", task="regression")
MinimalBound("vc")

# So are searches, and parameters that only run time knows.
GridSearchCV(KMPClassifier(), {"kernel": ["rbf", my_kernel], "gamma": [0.1, "cv"]})
KMPClassifier().set_params(kernel="rbf", selection__tolerance=0.01)
for name in ("squared", "huber"):
    KMPRegressor().set_params(loss=name)
"""
# Of which each line is wrong, at the parameter that stands beside it.
WRONG = {
    'KMPClassifier("rfb")': "Argument 1",
    'KMPClassifier(gamma="wide")': '"gamma"',
    'KMPClassifier(loss="huber")': '"loss"',
    'KMPClassifier(method="fast")': '"method"',
    'KMPClassifier(selection="vc")': '"selection"',
    'KMPClassifier(metric="rbf")': '"metric"',
    'KMPClassifier(multiclass="ovo")': '"multiclass"',
    'KMPRegressor(alpha="auto")': '"alpha"',
    'KMPRegressor(dtype="float16")': '"dtype"',
    'HKNNClassifier(penalty="cv")': '"penalty"',
    'LearnedMetric(task="clustering")': '"task"',
    'ParzenWindows(bandwidth="scott")': '"bandwidth"',
    "KMPClassifier(max_suport=3)": '"max_suport"',
}


@pytest.fixture(scope="module")
def found(tmp_path_factory, request):
    """What mypy says of each line of a program, by its text."""
    pytest.importorskip("mypy")
    shown = [
        f"{name}({'ParzenWindows()' if name in NEEDS_DENSITY else ''}).fit(X, y)"
        for name in pursuit.estimators.__all__
    ]
    shown += [
        "KMPClassifier().fit(X, y).predict(X)",
        "KMPClassifier().fit(X, y).truncate(3)",
        "KMPClassifier().set_params(gamma=1.0)",
        "pursuit.KMPRegressor().fit(X, y)",
    ]
    lines = [*PROGRAM.splitlines(), *(f"reveal_type({e})" for e in shown), *WRONG]
    file = tmp_path_factory.mktemp("types") / "program.py"
    file.write_text("\n".join(lines) + "\n")
    home = Path(pursuit.__file__).parents[1]
    cache = request.config.cache.mkdir("mypy")
    options = ["--strict", "--ignore-missing-imports", f"--cache-dir={cache}"]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, file.name],
        cwd=file.parent,
        env={**os.environ, "MYPYPATH": str(home), "MYPY_FORCE_COLOR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = {}
    for text in result.stdout.splitlines():
        if text.startswith(file.name):
            number, kind, message = text.removeprefix(f"{file.name}:").split(":", 2)
            if kind.strip() == "error" or "Revealed" in message:
                line = lines[int(number) - 1]
                said.setdefault(line, []).append(message.strip())
    assert said, result.stdout + result.stderr
    return said


@pytest.mark.parametrize("name", pursuit.estimators.__all__)
def test_fit_returns_the_class_of_the_estimator(found, name):
    density = "ParzenWindows()" if name in NEEDS_DENSITY else ""
    (message,) = found[f"reveal_type({name}({density}).fit(X, y))"]
    home = getattr(pursuit, name).__module__
    assert message == f'Revealed type is "{home}.{name}"'


@pytest.mark.parametrize(
    "expression, kind",
    [
        ("KMPClassifier().fit(X, y).predict(X)", "numpy.ndarray["),
        ("KMPClassifier().fit(X, y).truncate(3)", ".KMPClassifier"),
        ("KMPClassifier().set_params(gamma=1.0)", ".KMPClassifier"),
        ("pursuit.KMPRegressor().fit(X, y)", ".KMPRegressor"),
    ],
)
def test_what_else_has_a_type(found, expression, kind):
    (message,) = found[f"reveal_type({expression})"]
    assert kind in message


def test_words_objects_and_searches_are_taken(found):
    assert {line: found[line] for line in PROGRAM.splitlines() if line in found} == {}


@pytest.mark.parametrize("line", WRONG)
def test_misspelt_words_are_found(found, line):
    assert any(WRONG[line] in message for message in found.get(line, []))


# -- the words at run time ---------------------------------------------------------


@pytest.mark.parametrize(
    "kind, known",
    [
        (_words.KernelName, NAMED),
        (_words.WidthRule, RULES),
        (_words.ClassLoss, losses.names(True)),
        (_words.NumberLoss, losses.names(False)),
        (_words.RankingLoss, losses.RANKING),
        (_words.BoundKind, KINDS),
        (_words.Task, TASKS),
    ],
)
def test_types_hold_the_words_that_are_known(kind, known):
    assert set(get_args(kind)) == set(known)


@pytest.mark.parametrize(
    "kind, resolve, parameter",
    [
        (_words.MethodWord, as_method, "method"),
        (_words.SelectionWord, as_selection, "selection"),
        (_words.MetricWord, as_metric, "metric"),
    ],
)
def test_words_stand_for_objects(kind, resolve, parameter):
    for word in get_args(kind):
        assert resolve(word).word == word
    for name in ("KMPClassifier", "KMPRegressor"):
        signature = inspect.signature(getattr(pursuit, name))
        assert f"{parameter[0].upper()}{parameter[1:]}Word" in str(
            signature.parameters[parameter].annotation
        )
