"""Errors that name the successor of a removed parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator


class RemovedParameters(BaseEstimator):
    """Estimator that says what replaces each parameter it no longer has.

    Attributes
    ----------
    _removed : dict from str to str
        Successor of each removed parameter, as it is written in a call.
    """

    _removed: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _checked(cls.__init__)  # type: ignore[method-assign]

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params
            Names and values; ``<component>__<parameter>`` sets one of a component.

        Returns
        -------
        self : estimator
            The estimator itself.
        """
        message = _message(self, params, self._get_param_names())
        if message is not None:
            raise ValueError(message)
        super().set_params(**params)
        return self


def _checked(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor with a check for removed parameters."""
    known = signature(init).parameters

    @wraps(init)
    def checked(self: RemovedParameters, *args: Any, **kwargs: Any) -> None:
        message = _message(self, kwargs, known)
        if message is not None:
            raise TypeError(message)
        init(self, *args, **kwargs)

    return checked


def _message(
    estimator: RemovedParameters, names: Iterable[str], known: Iterable[str]
) -> str | None:
    """Return the error for all removed names, None if there is none.

    A subclass may have a parameter of that name again.
    """
    removed = [name for name in names if name in estimator._removed]
    messages = [
        f"{type(estimator).__name__} has no parameter {name!r} any more: use "
        f"{estimator._removed[name]}."
        for name in removed
        if name not in known
    ]
    return " ".join(messages) or None
