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

    If there is a search before, they are told now and then that it goes on: each time
    is a task "moment" of the task "search", without a model. Whoever asks to stop there
    gets the model that can be fitted soon.

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
    has_search : bool
        Whether anything is compared before the final pursuit.
    """

    def __init__(
        self,
        estimator: Any,
        n_steps: int,
        data: dict[str, Any],
        attributes: Callable[[Sequence[Steps], Any, int], dict[str, Any]],
        has_search: bool,
    ) -> None:
        self._estimator, self._data, self._attributes = estimator, data, attributes
        self._n_told = 0
        self._has_stopped = False
        n_tasks = n_steps + has_search
        self._context = estimator._init_callback_context(max_subtasks=n_tasks)
        self._context.call_on_fit_task_begin(estimator=estimator, **data)
        self._search: Any = None
        if has_search:
            self._search = self._context.subcontext("search", max_subtasks=None)
            self._search.call_on_fit_task_begin(estimator=estimator, **data)

    def stops_search(self) -> bool:
        """Return whether a callback asks to stop before the final pursuit."""
        if self._search is not None:
            moment = self._search.subcontext("moment")
            moment.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            self._has_stopped = self._ended(moment)
        return self._has_stopped

    def _ended(self, task: Any) -> bool:
        """Tell of the end of a task; return whether a callback asks to stop."""
        end = task.call_on_fit_task_end
        return bool(end(estimator=self._estimator, **self._data))

    def __call__(self, pursuits: Sequence[Steps], dictionary: Any) -> int | None:
        """Report the steps since the last call; return after which a callback stops.

        If one has stopped the search already, the steps are those that it gets for it.
        """
        if self._search is not None:
            self._ended(self._search)
            self._search = None
        while self._n_told < max(p.n_steps for p in pursuits):
            self._n_told += 1
            stops = self._tell(pursuits, dictionary, self._n_told)
            if stops and not self._has_stopped:
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
