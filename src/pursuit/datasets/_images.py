"""Smoothed images."""

from __future__ import annotations

import numpy as np

# Standard deviation of the Gaussian filter, in pixels.
_WIDTH = 0.75


def smoothed(images: np.ndarray, background: float) -> np.ndarray:
    """Return square images, rows of pixels, smoothed by a Gaussian of 0.75 pixel.

    Outside the image there is background.
    """
    from scipy.ndimage import gaussian_filter

    side = int(np.sqrt(images.shape[1]))
    raised = images.reshape(-1, side, side) - background
    blurred = gaussian_filter(raised, (0.0, _WIDTH, _WIDTH), mode="constant")
    return blurred.reshape(images.shape) + background
