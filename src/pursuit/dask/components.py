"""Sparse kernel principal components on Dask."""

from __future__ import annotations

from typing import Any, Literal, Self

from distributed import Client
from sklearn.base import TransformerMixin

from pursuit import SparseKernelPCA
from pursuit._words import Auto, KernelFunction, KernelName, WidthRule

from .base import BaseDask

__all__ = ["DaskSparseKernelPCA"]


class DaskSparseKernelPCA(TransformerMixin, BaseDask):
    """Kernel principal components from a few points, on arrays and frames of Dask.

    The same model as :meth:`pursuit.SparseKernelPCA.fit_batches` finds, whatever the
    number of workers and wherever the partitions are. If a worker is lost, others visit
    its partitions again, and the model is the same.

    The parameters are those of :class:`pursuit.SparseKernelPCA`, and a client. Points
    are chosen in this process, on a sample of the rows: `max_memory` is about this
    process.

    Parameters
    ----------
    client : distributed.Client, optional
        Where to compute. None is the current client; if there is none, Dask's scheduler
        in this process, which is its threads by default. It is left out of pickles, and
        shared by clones.

    Attributes
    ----------
    local_ : SparseKernelPCA
        The fitted model, an ordinary one: it transforms in memory, and can be saved and
        exported. Its fitted attributes, such as ``n_support_`` and
        ``explained_variance_``, are those of this object too.

    See Also
    --------
    pursuit.SparseKernelPCA : What the parameters and attributes mean.
    map_rows : Lazy transforms of any fitted estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from pursuit.dask import DaskSparseKernelPCA
    >>> X = da.random.default_rng(0).random((1000, 2), chunks=(300, 2))
    >>> pca = DaskSparseKernelPCA(n_components=3).fit(X)
    >>> pca.transform(X)
    dask.array<pursuit-transform, shape=(1000, 3), dtype=float64, chunksize=(300, 3)...>
    """

    _kind = SparseKernelPCA

    def __init__(
        self,
        n_components: int | float | Literal["bound"] | None = 100,
        *,
        kernel: KernelName | Literal["precomputed"] | KernelFunction = "rbf",
        gamma: float | WidthRule | None = "median",
        max_support: int | None = None,
        center: bool = True,
        delta: float = 0.05,
        subsample: int | float | Auto | None = "auto",
        n_candidates: int | None = None,
        tol: float = 1e-10,
        max_memory: int | str | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        client: Client | None = None,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the points and find the components, by three trips over the rows.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Training points, divided by rows. Partitions are arrays, CSR matrices or
            pandas frames; they may be empty, and their sizes unknown. Each trip
            computes them anew: ``persist()`` them before if memory holds them.
        y : Ignored
            Present for compatibility with pipelines.

        Returns
        -------
        self : DaskSparseKernelPCA
            The fitted transformer.
        """
        return self._fit(self._visits(X))

    def transform(self, X: Any) -> Any:
        """Return the components of points, not computed yet.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Points, divided by rows. Points in memory are transformed at once.

        Returns
        -------
        T : dask array of shape (n_samples, n_components)
            Coordinates in feature space, divided as `X`.
        """
        return self._mapped(X, "transform")
