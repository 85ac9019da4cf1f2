"""Errors that name the successor of a parameter that was removed, or is another's."""

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
    _foreign : dict from str to str
        What to use for each parameter that users know from other estimators.
    _guide : str
        Where these are explained.
    """

    _removed: ClassVar[Mapping[str, str]] = {}
    _foreign: ClassVar[Mapping[str, str]] = {}
    _guide: ClassVar[str] = ""

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
    kind, removed, foreign = (
        type(estimator).__name__,
        estimator._removed,
        estimator._foreign,
    )
    known, names = set(known), list(names)
    messages = [
        f"{kind} has no parameter {name!r} any more: use {removed[name]}."
        for name in names
        if name in removed and name not in known
    ]
    others = [name for name in names if name in foreign and name not in known]
    messages += [f"{kind} has no parameter {n!r}: {foreign[n]}." for n in others]
    if others:
        messages.append(estimator._guide)
    return " ".join(messages) or None
