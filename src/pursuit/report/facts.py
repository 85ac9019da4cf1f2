"""Settings, versions and the code that repeats a fit, as words."""

from __future__ import annotations

import inspect
import platform
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module, metadata
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit import __version__

from .stages import last_step

__all__ = ["code_of", "fitted_facts", "parameters", "recipe", "search", "versions"]

_LONGEST = 300
_MAX_TRIALS = 40


def code_of(value: Any, indent: int = 0) -> str:
    """Return Python code of an estimator with what was set, in lines of 80 letters."""
    opening, parts, closing = _code_parts(value)
    inner = [name + code_of(part, indent + 4) for name, part in parts]
    short = opening + ", ".join(inner) + closing
    if "\n" not in short and indent + len(short) <= 80:
        return short
    if not inner:
        return short
    space = " " * indent
    lines = [f"{space}    {each}," for each in inner]
    return "\n".join([opening, *lines, f"{space}{closing}"])


def _code_parts(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """Return what opens the code of a value, its named parts, and what closes it."""
    if isinstance(value, list):
        return "[", [("", part) for part in value], "]"
    if isinstance(value, tuple) and len(value) > 1:
        return "(", [("", part) for part in value], ")"
    if isinstance(value, BaseEstimator):
        set_ones = [(f"{name}=", v) for name, v in _set_parameters(value)]
        return f"{type(value).__name__}(", set_ones, ")"
    return repr(value), [], ""


def _set_parameters(estimator: BaseEstimator) -> list[tuple[str, Any]]:
    """Return names and values of the parameters that are not the defaults."""
    signature = inspect.signature(type(estimator).__init__).parameters
    found = []
    for name, value in estimator.get_params(deep=False).items():
        default = signature[name].default if name in signature else inspect.Parameter
        if repr(value) != repr(default):
            found.append((name, value))
    return found


def parameters(model: Any) -> list[list[Any]]:
    """Return [name, value, whether it is the default] of the last step."""
    model = last_step(model)
    changed = {name for name, _ in _set_parameters(model)}
    values = model.get_params(deep=False)
    return [
        [name, _shortened(repr(v)), name not in changed] for name, v in values.items()
    ]


def fitted_facts(model: Any) -> list[list[str]]:
    """Return [name, value, meaning] of what the fit chose."""
    model = last_step(model)
    known = [
        ("kernel_", "kernel, with its width and metric"),
        ("gamma_", "width of the kernel"),
        ("alpha_", "ridge on the coefficients"),
        ("loss_", "loss that was minimized"),
        ("size_reason_", "what chose the size"),
        ("held_out_error_", "error of that size on held-out rows of the fit"),
        ("n_support_", "support points of the chosen model"),
        ("n_iter_", "steps on the whole path"),
        ("stop_reason_", "why the path ends"),
    ]
    found = [(name, getattr(model, name, None), means) for name, means in known]
    return [[name, _short(v), means] for name, v, means in found if v is not None]


def search(model: Any) -> list[dict[str, Any]]:
    """Return the settings that the fit compared, each with its lowest error."""
    trials = getattr(last_step(model), "search_", None) or []
    return [_trial(trial) for trial in trials[-_MAX_TRIALS:]]


def _trial(trial: dict[str, Any]) -> dict[str, Any]:
    errors = np.asarray(trial["errors"], dtype=np.float64)
    spread = np.asarray(trial["standard_errors"], dtype=np.float64)
    best = int(np.nanargmin(errors)) if np.isfinite(errors).any() else 0
    curves = ("errors", "standard_errors")
    words = {name: _short(v) for name, v in trial.items() if name not in curves}
    return {
        "settings": words,
        "size": best,
        "error": float(errors[best]),
        "standardError": float(spread[best]),
    }


def recipe(model: Any, has_training: bool) -> str:
    """Return Python code that fits the model and writes the report again."""
    names = sorted(_imported(model))
    more = ", X_train=X_train, y_train=y_train" if has_training else ""
    return "\n".join(
        [
            "import pursuit.report",
            *names,
            "",
            f"model = {code_of(model)}",
            "model.fit(X_train, y_train)",
            f'pursuit.report.write(model, "report.html", X, y{more})',
        ]
    )


def versions() -> list[list[str]]:
    """Return [package, version] of what the numbers depend on."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ["pursuit", __version__],
        ["Python", platform.python_version()],
        *[[name, metadata.version(name)] for name in packages],
    ]


def _imported(model: Any) -> set[str]:
    """Return the lines that import the classes of a model and its preparation."""
    homes: dict[str, set[str]] = defaultdict(set)
    for each in _estimators(model):
        kind = type(each)
        homes[_public_home(kind)].add(kind.__name__)
    return {f"from {home} import {', '.join(sorted(homes[home]))}" for home in homes}


def _public_home(kind: type) -> str:
    """Return the shortest package of a class from which it can be imported."""
    names = kind.__module__.split(".")
    for n in range(1, len(names)):
        home = ".".join(names[:n])
        # Looked up, so that packages that load names when they are used count too.
        if getattr(import_module(home), kind.__name__, None) is kind:
            return home
    return kind.__module__


def _estimators(value: Any) -> Iterator[BaseEstimator]:
    """Yield a model and all objects with parameters that its code names."""
    if isinstance(value, BaseEstimator):
        yield value
    _, parts, _ = _code_parts(value)
    for _, part in parts:
        yield from _estimators(part)


def _short(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    text = value if isinstance(value, str) else text
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
