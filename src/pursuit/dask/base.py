"""What the estimators on Dask share: a local model, and a client."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import dask
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .mapping import map_rows
from .visits import DaskVisits

__all__ = ["BaseDask"]


class BaseDask(BaseEstimator):
    """An estimator whose fit makes a local model, and whose predictions are lazy."""

    _kind: ClassVar[type]
    client: Any
    verbose: int | bool
    local_: Any

    def _store(self, values: dict[str, Any]) -> None:
        """Store the arguments of the constructor as they are."""
        for name in self._get_param_names():
            setattr(self, name, values[name])

    def _unfitted(self) -> Any:
        """Return the local estimator of these parameters."""
        params = self.get_params(deep=False)
        del params["client"]
        return self._kind(**params)

    def _visits(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskVisits:
        how = {"client": self.client, "verbose": self.verbose}
        return DaskVisits(X, y, sample_weight, **how)

    def _fit(self, visits: DaskVisits) -> Self:
        self.local_ = self._unfitted().fit_batches(visits)
        return self

    def _small(self) -> Any:
        """Return the local model without the rest of its path, which is large."""
        check_is_fitted(self, "local_")
        return self.local_.truncate()

    def _mapped(self, X: Any, method: str) -> Any:
        """Return what a method of the local model gives; for Dask not computed yet."""
        model = self._small()
        if dask.is_dask_collection(X):
            return map_rows(model, X, method)
        return getattr(model, method)(X)

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute of the local model."""
        is_fitted_name = name.endswith("_") and not name.startswith("_")
        if is_fitted_name and "local_" in vars(self):
            return getattr(self.local_, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    # A connection cannot be copied: copies have none, and clones share it.

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        other = super(BaseDask, copy.copy(self)).__sklearn_clone__()
        other.client = self.client
        return other
