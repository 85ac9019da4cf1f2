"""Trips of a fit over the partitions of Dask's arrays and frames."""

from __future__ import annotations

from typing import Any, TypeVar

from distributed import Client

from pursuit._progress import Progress
from pursuit.trips import Tally, Trip, Visits

from .graphs import TripGraph
from .partitions import checked_features, keys_of, matched, simplified
from .running import connected, total

__all__ = ["DaskVisits"]

T = TypeVar("T", bound=Tally)


class DaskVisits(Visits):
    """Visits to the partitions of Dask's arrays or frames, where they are.

    Each partition is visited by one task. Tallies are merged on the workers, and
    complete ones brought home, always in the same order. A lost worker costs only what
    it was at: other workers visit these partitions, and the result is the same.

    Parameters
    ----------
    X : dask array or dask frame of shape (n, d)
        Features, divided by rows. Partitions are arrays, CSR matrices or pandas frames;
        they may be empty, and their sizes unknown.
    y : dask array, series or frame of shape (n,) or (n, T), optional
        Targets. Arrays of known sizes are divided as X; all others must be.
    sample_weight : dask array or series of shape (n,), optional
        Weights, divided as `y`.
    client : distributed.Client, optional
        None is the current client; if there is none, Dask's scheduler in this process.
    verbose : int or bool, default=0
        Whether to show a progress bar for each trip.

    Examples
    --------
    >>> import dask.array as da
    >>> from pursuit import KMPRegressor
    >>> from pursuit.dask import DaskVisits
    >>> X = da.random.default_rng(0).random((1000, 2), chunks=(300, 2))
    >>> visits = DaskVisits(X, X.sum(axis=1))
    >>> model = KMPRegressor("rbf", gamma=1, alpha=1e-3).fit_batches(visits)
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        client: Client | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.feature_names = checked_features(X)
        y = None if y is None else matched("y", y, X)
        if sample_weight is not None:
            sample_weight = matched("sample_weight", sample_weight, X)
        several = [simplified(data) for data in (X, y, sample_weight)]
        self._data = [data for data in several if data is not None]
        keys = [None if data is None else keys_of(data) for data in several]
        self._parts = [
            tuple(None if k is None else k[i] for k in keys)
            for i in range(len(keys[0] or ()))
        ]
        self._client, self._verbose = client, verbose
        self._n_rows: int | None = None
        self._is_first = True

    def total(self, trip: Trip[T]) -> T:
        """Return what a trip over all partitions brings back."""
        graph = TripGraph.of(trip, self._parts)
        bar = Progress(self._n_rows, trip.name, self._verbose, unit="row")
        with connected(self._client) as client, bar as progress:
            show = progress.show if self._verbose else None
            tally: T = total(graph, self._data, client, show, self._is_first)
        self._n_rows, self._is_first = tally.n_rows, False
        return tally

    def __repr__(self) -> str:
        return f"DaskVisits({len(self._parts)} partitions)"
