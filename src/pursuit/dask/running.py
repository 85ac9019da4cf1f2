"""Tasks on a cluster, or in Dask's own threads where there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import dask
import distributed
from dask.callbacks import Callback
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, Future

from pursuit._warnings import warn

from .graphs import TripGraph
from .tasks import Refusal, merged

__all__ = ["connected", "total"]

_WHY_CANCELLED = (
    "Dask gave up some tasks of the fit ({}). Either the scheduler was closed or "
    "restarted, or data were lost that no task can compute again, such as those that "
    "client.scatter sent to one worker only: scatter them with broadcast=True, or make "
    "the collection by dask.array.from_array."
)

# Seconds between two looks whether there are workers.
_PATIENCE = 15.0


@contextmanager
def connected(client: Client | None) -> Iterator[Client | None]:
    """Yield the client to use: the one given, the current one, or None.

    Within a task it is the worker's, and the task makes room for others meanwhile.
    """
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(
                f"client={client!r}: a dask.distributed.Client is required, or None "
                "for the current one."
            )
        if client.asynchronous:
            raise ValueError(
                f"client={client!r} is asynchronous: a fit waits for its trips, so "
                "pass a client without asynchronous=True."
            )
        # Dask's functions ask for the current one.
        with client.as_current():
            yield client
        return
    if _is_in_task():
        with distributed.worker_client() as its_client:
            yield its_client
        return
    yield _current_client()


def _is_in_task() -> bool:
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def _current_client() -> Client | None:
    try:
        return distributed.default_client()
    except ValueError:
        return None


def total(
    graph: TripGraph,
    data: list[Any],
    client: Client | None,
    show: Callable[[int], None] | None,
    is_first: bool,
) -> Any:
    """Return the tally of all partitions; raise a ValueError if one is refused.

    Parameters
    ----------
    graph : TripGraph
    data : list of collections
        Whose partitions are visited.
    client : Client or None
    show : callable, optional
        Called with the number of rows visited so far.
    is_first : bool
        Whether Dask may warn that the data are large parts of the graph. Once is
        enough; the candidates of later trips are large as well.
    """
    if client is None:
        tally = _in_threads(graph, data, show)
    else:
        tally = _on_cluster(client, graph, data, show, is_first)
    return _accepted(tally)


def _accepted(tally: Any) -> Any:
    if isinstance(tally, Refusal):
        raise ValueError(tally.message) from None
    return tally


def _delayed(graph: TripGraph, keys: list[Any], data: list[Any]) -> list[Delayed]:
    layer = graph.visits
    whole = HighLevelGraph.from_collections(layer, graph.tasks, dependencies=data)
    return [Delayed(key, whole, layer=layer) for key in keys]


def _in_threads(
    graph: TripGraph, data: list[Any], show: Callable[[int], None] | None
) -> Any:
    """Compute by the scheduler that Dask would take: by default, its threads."""
    n_rows = 0

    def count(key: Any, result: Any, *_: Any) -> None:
        nonlocal n_rows
        if show is not None and isinstance(key, tuple) and key[0] == graph.visits:
            n_rows += getattr(result, "n_rows", 0)
            show(n_rows)

    with Callback(posttask=count):
        return dask.compute(*_delayed(graph, [graph.chained()], data))[0]


def _on_cluster(
    client: Client,
    graph: TripGraph,
    data: list[Any],
    show: Callable[[int], None] | None,
    is_first: bool,
) -> Any:
    """Merge trees in their order, as they are complete; cancel the rest on errors."""
    with warnings.catch_warnings():
        if not is_first:
            warnings.filterwarnings("ignore", "Sending large graph")
        futures = client.compute(_delayed(graph, graph.trees, data))
    tally, waiting, n_merged, n_rows = None, {}, 0, 0
    try:
        for number, tree in _completed(client, futures):
            waiting[number] = _accepted(tree)
            while n_merged in waiting:
                one = waiting.pop(n_merged)
                tally = one if tally is None else _accepted(merged([tally, one]))
                n_merged += 1
            n_rows += tree.n_rows
            if show is not None:
                show(n_rows)
    except BaseException:
        client.cancel(futures)
        raise
    return tally


def _completed(client: Client, futures: list[Future]) -> Iterator[tuple[int, Any]]:
    """Yield the number and the result of each future that is complete."""
    numbers = {future: i for i, future in enumerate(futures)}
    has_warned = False
    while numbers:
        try:
            done = distributed.wait(list(numbers), _PATIENCE, "FIRST_COMPLETED").done
            results = {future: future.result() for future in done}
        except (TimeoutError, distributed.TimeoutError):
            if not has_warned and not client.scheduler_info()["workers"]:
                warn("The cluster has no workers: the fit waits for one.")
                has_warned = True
            continue
        except CancelledError as error:
            raise RuntimeError(_WHY_CANCELLED.format(error)) from None
        for future in sorted(done, key=numbers.__getitem__):
            # What is at home needs no place on the workers.
            future.release()
            yield numbers.pop(future), results[future]
