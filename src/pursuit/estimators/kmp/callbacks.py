"""Support for scikit-learn's callbacks (1.9 and later), ignored by earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from pursuit.engine.problem import Steps

__all__ = ["CallbackSupport", "StepReporter", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Stand-in for the mixin, without callbacks."""

    def _with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        return method


def with_callbacks(method: Method) -> Method:
    """Return ``fit`` with scikit-learn's callbacks, where it has them."""
    return cast(Method, _with_callbacks(method))


class StepReporter:
    """Report every step of the final pursuit to the callbacks of an estimator.

    Parameters
    ----------
    estimator : object
        Estimator that is being fitted.
    n_steps : int
        Maximum number of steps.
    data : dict
        ``X``, ``y`` and ``metadata``, as the callbacks expect them.
    attributes : callable
        ``attributes(pursuits, dictionary, n)`` returns the fitted attributes after
        step ``n``.
    """

    def __init__(
        self,
        estimator: Any,
        n_steps: int,
        data: dict[str, Any],
        attributes: Callable[[Sequence[Steps], Any, int], dict[str, Any]],
    ) -> None:
        self._estimator, self._data, self._attributes = estimator, data, attributes
        self._n_told = 0
        self._context = estimator._init_callback_context(max_subtasks=n_steps)
        self._context.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, pursuits: Sequence[Steps], dictionary: Any) -> int | None:
        """Report the steps since the last call; return after which a callback stops."""
        while self._n_told < max(p.n_steps for p in pursuits):
            self._n_told += 1
            if self._tell(pursuits, dictionary, self._n_told):
                return self._n_told
        return None

    def _tell(self, pursuits: Sequence[Steps], dictionary: Any, n: int) -> bool:
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(
            step.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: self._attributes(
                    pursuits, dictionary, n
                ),
                **self._data,
            )
        )

    def finish(self) -> None:
        """Report that the fit is complete."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes={}, **self._data
        )
