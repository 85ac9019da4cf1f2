"""The neighbors by which a model decides about one point."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import whole_number
from pursuit.estimators import CKNNClassifier, HKNNClassifier, HKNNRegressor

from ._drawing import axes, class_style, last_step, rows_seen, without_name_warnings
from ._support import flat

OURS = (HKNNClassifier, CKNNClassifier, HKNNRegressor)
# Width of the frame around each picture, in pixels.
_FRAME = 1


class NeighborsDisplay:
    """The neighbors that a model uses for one point.

    They are pictures in rows of one class each, the nearest first, if the rows of X are
    images; otherwise points in two dimensions, with lines from the query. Drawing needs
    matplotlib, the extra ``pursuit[plot]``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    query : array-like of shape (n_features,)
        The point.
    neighbors : dict from object to ndarray of int
        Training rows that are used, nearest first, of each class; of a regressor all
        together, under None.
    answer : object, default=None
        What the model predicts.
    image_shape : pair of int, default=None
        Height and width of images.
    features : pair of str or int, default=None
        Two columns to draw. By default all of two columns, else the first two principal
        components of the standardized rows.
    feature_names : sequence of str, default=None
        Names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the picture, after :meth:`plot`.
    figure_ : matplotlib Figure
        Figure that contains these axes.
    mosaic_ : matplotlib AxesImage or None
        The pictures, as one image.
    points_ : list of matplotlib PathCollection
        The neighbors of each class, where there are no pictures.
    query_ : matplotlib PathCollection or None
        The query, where there are no pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import HKNNClassifier
    >>> from pursuit.inspection import NeighborsDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = HKNNClassifier(5).fit(X[1:], y[1:])
    >>> display = NeighborsDisplay.from_estimator(
    ...     model, X[1:], y[1:], X[0], image_shape=(8, 8)
    ... )
    """

    def __init__(
        self,
        *,
        X: Any,
        y: Any,
        query: Any,
        neighbors: dict[Any, np.ndarray],
        answer: Any = None,
        image_shape: tuple[int, int] | None = None,
        features: Any = None,
        feature_names: Any = None,
    ) -> None:
        self.X = X
        self.y = y
        self.query = query
        self.neighbors = neighbors
        self.answer = answer
        self.image_shape = image_shape
        self.features = features
        self.feature_names = feature_names

    def plot(self, ax: Any = None, *, n_classes: int = 5, **kwargs: Any) -> Self:
        """Draw the neighbors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        n_classes : int, default=5
            Maximum number of classes to draw as rows of pictures, the nearest.
        **kwargs : dict
            Passed on to ``imshow`` for pictures, to ``scatter`` for points.

        Returns
        -------
        display : NeighborsDisplay
            This object, with its attributes set.
        """
        n_classes = whole_number("n_classes", n_classes, 1)
        self.mosaic_: Any = None
        self.points_: list[Any] = []
        self.query_: Any = None
        if self.image_shape is None:
            self._plot_points(ax, kwargs)
        else:
            self._plot_pictures(ax, n_classes, kwargs)
        if self.answer is not None:
            self.ax_.set_title(f"Predicted: {_text(self.answer)}")
        self.figure_ = self.ax_.figure
        return self

    def _plot_pictures(self, ax: Any, n_classes: int, kwargs: dict[str, Any]) -> None:
        X = np.asarray(self.X, dtype=np.float64)
        query = np.asarray(self.query, dtype=np.float64)
        shape = _checked_shape(self.image_shape, query.size)
        labels = [*self.neighbors][:n_classes]
        most = max(len(self.neighbors[label]) for label in labels)
        # The query, a gap, then the neighbors.
        cells = np.full((len(labels), most + 1, *np.add(shape, 2 * _FRAME)), np.nan)
        inside = slice(_FRAME, -_FRAME)
        cells[0, 0, inside, inside] = query.reshape(shape)
        for r, label in enumerate(labels):
            for k, row in enumerate(self.neighbors[label]):
                cells[r, k + 1, inside, inside] = X[row].reshape(shape)
        height, width = cells.shape[2:]
        gap = np.full((len(labels), height, width // 3), np.nan)
        mosaic = np.concatenate(
            [
                np.concatenate([cells[:, 0], gap], axis=2),
                *(cells[:, k] for k in range(1, most + 1)),
            ],
            axis=2,
        ).reshape(-1, width * (most + 1) + width // 3)
        size = 0.6 * (most + 2), 0.6 * len(labels) * height / width + 1.4
        self.ax_ = axes(ax, figsize=(max(4.0, size[0]), size[1]))
        self.mosaic_ = self.ax_.imshow(mosaic, **{"cmap": "gray_r", **kwargs})
        start = width + width // 3
        self.ax_.set_xticks(
            [width / 2, *(start + width * (k + 0.5) for k in range(most))],
            ["query", *map(str, range(1, most + 1))],
        )
        names = ["" if label is None else _text(label) for label in labels]
        self.ax_.set_yticks(height * (np.arange(len(labels)) + 0.5), names)
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        self.ax_.set_xlabel("Neighbor, the nearest first")
        if labels != [None]:
            self.ax_.set_ylabel(
                "Class, the nearest first" if len(labels) > 3 else "Class"
            )

    def _plot_points(self, ax: Any, kwargs: dict[str, Any]) -> None:
        X = np.asarray(self.X, dtype=np.float64)
        names = self.feature_names or [f"x{j}" for j in range(X.shape[1])]
        points, axis_names = flat(X, self.features, list(names))
        flat_rows, flat_query = points(X), points(np.atleast_2d(self.query))[0]
        ax = self.ax_ = axes(ax)
        ax.scatter(*flat_rows.T, s=8, c="0.8", lw=0, label="other rows")
        is_class = None not in self.neighbors
        classes = np.unique(np.asarray(self.y)).tolist() if is_class else []
        for label, rows in self.neighbors.items():
            number = classes.index(label) if label in classes else 0
            style = class_style(number)
            for row in rows:
                ax.plot(
                    *np.stack([flat_query, flat_rows[row]]).T,
                    color=style["color"],
                    lw=0.7,
                    alpha=0.6,
                    zorder=1.5,
                )
            name = "neighbors" if label is None else f"neighbors, class {_text(label)}"
            how = {"s": 36, "edgecolors": "white", "lw": 0.5, "zorder": 2, **style}
            self.points_.append(
                ax.scatter(*flat_rows[rows].T, label=name, **{**how, **kwargs})
            )
        self.query_ = ax.scatter(
            *flat_query, s=180, marker="*", c="white", edgecolors="black", zorder=1.8,
            label="query",
        )  # fmt: skip
        ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        query: Any,
        *,
        image_shape: tuple[int, int] | None = None,
        features: Any = None,
        n_classes: int = 5,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the neighbors that a fitted model uses for one point.

        Parameters
        ----------
        estimator : HKNNClassifier, CKNNClassifier, HKNNRegressor, \
KNeighborsClassifier, KNeighborsRegressor or Pipeline
            Fitted model, or a fitted pipeline that ends in one. The first two use as
            many neighbors in each class.
        X : array-like of shape (n_samples, n_features)
            The training rows, as they were passed to `fit`.
        y : array-like of shape (n_samples,)
            Their targets.
        query : array-like of shape (n_features,)
            The point.
        image_shape : pair of int, default=None
            Height and width, if the rows are images: these are drawn.
        features : pair of str or int, default=None
            Two columns to draw. By default all of two columns, else the first two
            principal components of the standardized rows.
        n_classes : int, default=5
            Maximum number of classes to draw as rows of pictures, the nearest.
        ax : matplotlib Axes, default=None
            Axes to draw into; by default those of a new figure.
        **kwargs : dict
            Passed on to ``imshow`` for pictures, to ``scatter`` for points.

        Returns
        -------
        display : NeighborsDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        if not (isinstance(model, OURS) or hasattr(model, "kneighbors")):
            raise TypeError(
                f"{type(model).__name__} has no neighbors: NeighborsDisplay is for "
                "HKNNClassifier, CKNNClassifier, HKNNRegressor, scikit-learn's "
                "KNeighbors estimators, and for pipelines that end in one."
            )
        check_is_fitted(model)
        point, y = _one_row(query, X), np.asarray(y)
        with without_name_warnings():
            rows = rows_seen(estimator, X)
            seen = rows_seen(estimator, point, "query")
            neighbors = _used(model, rows, seen, y)
            answer = model.predict(seen)[0]
        if image_shape is None:
            # Points are drawn where the model sees them, pictures as they are.
            X, point = rows, seen
        names = getattr(model, "feature_names_in_", None)
        return cls(
            X=np.asarray(X),
            y=y,
            query=np.asarray(point)[0],
            neighbors=neighbors,
            answer=answer,
            image_shape=image_shape,
            features=features,
            feature_names=None if names is None else [*map(str, names)],
        ).plot(ax, n_classes=n_classes, **kwargs)


def _one_row(query: Any, X: Any) -> Any:
    """Return the query as a matrix of one row, of the kind of X if that is a frame."""
    if hasattr(query, "iloc") and getattr(query, "ndim", 2) == 1:
        query = query.to_frame().T  # a row of a frame
    if np.ndim(query) == 1:
        query = np.asarray(query)[None]
    if np.ndim(query) != 2 or np.shape(query)[0] != 1:
        raise ValueError(
            f"query has shape {np.shape(query)}: NeighborsDisplay draws the neighbors "
            "of one point, a row such as X[0]."
        )
    if np.shape(query)[1] != np.shape(X)[1]:
        raise ValueError(
            f"query has {np.shape(query)[1]} columns, and X has {np.shape(X)[1]}."
        )
    return query


def _used(
    model: Any, rows: np.ndarray, seen: np.ndarray, y: np.ndarray
) -> dict[Any, np.ndarray]:
    """Return the training rows that a model uses for one point, by class."""
    if len(y) != len(rows):
        raise ValueError(f"X has {len(rows)} rows, and y {len(y)}.")
    if isinstance(model, OURS):
        return _of_subspaces(model, rows, seen)
    near = model.kneighbors(seen, return_distance=False)[0]
    if near.max(initial=0) >= len(rows):
        raise _other_rows(model, len(rows))
    if not is_classifier(model):
        return {None: near}
    labels = y[near].tolist()
    return {label: near[y[near] == label] for label in dict.fromkeys(labels)}


def _of_subspaces(
    model: Any, rows: np.ndarray, seen: np.ndarray
) -> dict[Any, np.ndarray]:
    """Return the neighbors in each class, the class with the nearest subspace first."""
    reference = model._fitted.model.reference
    points = seen.astype(reference.points.dtype)
    hoods = reference.search.find(points, int(model.n_neighbors_))
    kept = getattr(model, "reference_", np.arange(len(reference.points)))
    near = [kept[i[:n]] for i, n in zip(hoods.index[0], hoods.count[0], strict=True)]
    every = np.concatenate(near)
    if every.max() >= len(rows) or not np.allclose(
        rows[every],
        reference.points[np.searchsorted(kept, every)],
    ):
        raise _other_rows(model, len(rows))
    if isinstance(model, HKNNRegressor):
        return {None: near[0]}
    order = np.argsort(model.distances(seen)[0], kind="stable")
    return {model.classes_[c].item(): near[c] for c in order if len(near[c])}


def _other_rows(model: Any, n_rows: int) -> ValueError:
    return ValueError(
        f"The {n_rows} rows of X are not those to which the {type(model).__name__} was "
        "fitted: pass the training rows."
    )


def _checked_shape(image_shape: Any, n_features: int) -> tuple[int, int]:
    is_pair = np.shape(image_shape) == (2,) and all(
        isinstance(side, (int, np.integer)) and side > 0 for side in image_shape
    )
    if not is_pair or image_shape[0] * image_shape[1] != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} must be two whole numbers, height and width, "
            f"whose product is the number of columns, {n_features}."
        )
    return int(image_shape[0]), int(image_shape[1])


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
