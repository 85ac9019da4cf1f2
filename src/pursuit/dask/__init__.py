"""Fits and predictions on Dask: rows on many machines, the same models.

==============================  =====================================================
`DaskKMPClassifier`,            kernel matching pursuit on arrays and frames of Dask
`DaskKMPRegressor`
`DaskSparseKernelPCA`           sparse kernel principal components
`map_rows`                      lazy predictions, scores or transforms of any fitted
                                estimator, partition by partition
`DaskVisits`                    partitions as what ``fit_batches`` takes
==============================  =====================================================

It needs ``pip install 'pursuit[dask]'``.

partitions.py   arrays and frames, checked
tasks.py        what is done with a partition, and where it counts which
graphs.py       a trip as tasks: a visit to each partition, sums by trees
running.py      tasks on a cluster or in threads: progress, interrupts, lost workers
visits.py       trips of fits over partitions
mapping.py      predictions
base.py         what the estimators share: kmp.py, components.py
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "pursuit.dask needs dask and distributed: pip install 'pursuit[dask]'."
    ) from error

from .components import DaskSparseKernelPCA
from .kmp import DaskKMPClassifier, DaskKMPRegressor
from .mapping import map_rows
from .visits import DaskVisits

__all__ = [
    "DaskKMPClassifier",
    "DaskKMPRegressor",
    "DaskSparseKernelPCA",
    "DaskVisits",
    "map_rows",
]
