"""Tangent vectors of transformations that leave the class of an image unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit._parameters import finite_number

__all__ = ["ImageTangents"]

KINDS = (
    "horizontal shift",
    "vertical shift",
    "rotation",
    "scaling",
    "stretching",
    "diagonal stretching",
    "thickening",
)


class ImageTangents(BaseEstimator):
    """Tangents of small transformations of images, from their gradients.

    For an image ``f`` with gradients ``f_x``, ``f_y``, and coordinates around its
    center, from -1 to 1 along its longer side, the tangents are: shifts ``f_x``,
    ``f_y``; rotation ``y f_x - x f_y``; scaling ``x f_x + y f_y``; stretching
    ``x f_x - y f_y`` and, along the diagonals, ``y f_x + x f_y``; thickening
    ``sqrt(f_x² + f_y²)``, which moves all edges outwards. A coefficient of 1 moves the
    border of the image by ``pixels``.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the images.
    kinds : sequence of str or None, default=None
        Names of the transformations (see ``ImageTangents.kinds_known``); None takes all
        seven.
    pixels : float, default=3.0
        Length of a tangent. The classifier penalizes squared coefficients, so longer
        tangents let images move farther.

    Notes
    -----
    Gradients are central differences: images should be smooth, or smoothed first by
    about one pixel (``scipy.ndimage.gaussian_filter``).

    References
    ----------
    .. [1] P. Simard, Y. LeCun, J. Denker and B. Victorri, "Transformation invariance
       in pattern recognition - tangent distance and tangent propagation", LNCS 1524,
       1998.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.neighbors import ImageTangents
    >>> images = np.tile(np.arange(4.0), 4)[None]  # brighter to the right
    >>> ImageTangents((4, 4), kinds=["horizontal shift"], pixels=1.0)(images)[0, 0, :4]
    array([1., 1., 1., 1.])
    """

    kinds_known = KINDS

    def __init__(
        self,
        shape: tuple[int, int],
        kinds: Sequence[str] | None = None,
        pixels: float = 3.0,
    ) -> None:
        self.shape = shape
        self.kinds = kinds
        self.pixels = pixels

    def __call__(self, X: Any) -> np.ndarray:
        """Return the tangents of images.

        Parameters
        ----------
        X : array-like of shape (n, height * width)
            Images, row by row.

        Returns
        -------
        tangents : ndarray of shape (n, n_kinds, height * width)
            Tangents, of the type of X.
        """
        X = np.asarray(X)
        height, width = self._checked_shape(X)
        kinds = self._checked_kinds()
        finite_number("pixels", self.pixels)
        images = X.reshape(len(X), height, width)
        down, right = np.gradient(images, axis=(1, 2))
        # One scale for both axes, so that rotation maps circles to themselves.
        half = max(height, width) / 2
        y, x = _coordinates(height, half)[:, None], _coordinates(width, half)[None]
        made = {
            "horizontal shift": lambda: right,
            "vertical shift": lambda: down,
            "rotation": lambda: y * right - x * down,
            "scaling": lambda: x * right + y * down,
            "stretching": lambda: x * right - y * down,
            "diagonal stretching": lambda: y * right + x * down,
            "thickening": lambda: np.hypot(right, down),
        }
        out = np.empty((len(X), len(kinds), height * width), dtype=down.dtype)
        for j, kind in enumerate(kinds):
            out[:, j] = self.pixels * made[kind]().reshape(len(X), -1)
        return out

    def _checked_shape(self, X: np.ndarray) -> tuple[int, int]:
        try:
            height, width = (int(side) for side in self.shape)
        except (TypeError, ValueError):
            raise ValueError(
                f"shape={self.shape!r} must be (height, width) in pixels."
            ) from None
        if X.ndim != 2 or X.shape[1] != height * width or min(height, width) < 2:
            raise ValueError(
                f"shape={self.shape!r} must be at least (2, 2) and its product the "
                f"number of features; X has shape {X.shape}."
            )
        return height, width

    def _checked_kinds(self) -> Sequence[str]:
        kinds = KINDS if self.kinds is None else tuple(self.kinds)
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            raise ValueError(
                f"kinds={self.kinds!r} must name some of {', '.join(KINDS)}."
            )
        return kinds


def _coordinates(n: int, half: float) -> np.ndarray:
    """Return the positions of n pixels around their center, in units of ``half``."""
    return (np.arange(n) - (n - 1) / 2) / half
