"""The words that parameters take, as types for those who check their programs.

At run time nothing looks at them: parameters are checked where they are used, and a
test holds both equal. Searches and ``set_params`` take any value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Auto: TypeAlias = Literal["auto"]

# -- kernels ---------------------------------------------------------------------------

KernelName: TypeAlias = Literal[
    "cosine",
    "gaussian",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "sigmoid",
]
# Kernel objects are functions of two sets of points, too.
KernelFunction: TypeAlias = Callable[..., Any]
WidthRule: TypeAlias = Literal["median", "scale", "auto"]

# -- kernel matching pursuit -----------------------------------------------------------

MetricWord: TypeAlias = Literal["best", "diagonal", "full"]
ClassLoss: TypeAlias = Literal[
    "squared",
    "squared-tanh",
    "exponential",
    "logistic",
    "doom2",
    "hinge",
    "squared-hinge",
    "margin",
]
NumberLoss: TypeAlias = Literal["squared", "absolute", "huber", "quantile", "poisson"]
RankingLoss: TypeAlias = Literal[
    "squared", "logistic", "squared-hinge", "plackett-luce"
]
MethodWord: TypeAlias = Literal["pre-fitting", "back-fitting", "basic"]
SelectionWord: TypeAlias = Literal["cv", "validation", "loo", "bound"]
BoundKind: TypeAlias = Literal["finite-class", "mdl", "vc"]
Multiclass: TypeAlias = Literal["shared", "ovr"]
ProbabilityWord: TypeAlias = Literal["temperature", "isotonic"]
FloatType: TypeAlias = Literal["float64", "float32"]

# -- other families --------------------------------------------------------------------

Task: TypeAlias = Literal["auto", "classification", "regression"]
PenaltyWord: TypeAlias = Literal["scale", "auto"]
TuningCriterion: TypeAlias = Literal["ancll", "error"]
PairCriterion: TypeAlias = Literal["correlation", "covariance"]
