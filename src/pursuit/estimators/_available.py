"""Methods that exist only with some parameters, and errors that say with which."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any


class _Available:
    """Descriptor of a method that is there unless a check raises an AttributeError.

    Unlike scikit-learn's ``available_if``, the error is the check's own.
    """

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], None]):
        self._method, self._check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, _: Any = None) -> Callable[..., Any]:
        if estimator is not None:
            self._check(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def checked(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            self._check(estimator)
            return self._method(estimator, *args, **kwargs)

        return checked


def available_unless(check: Callable[[Any], None]) -> Callable[[Any], Any]:
    """Decorate a method that is there unless ``check`` raises an AttributeError."""
    return lambda method: _Available(method, check)
