"""Tangents of images, and planes that reach out along them."""

import numpy as np
import pytest

from pursuit import HKNNClassifier
from pursuit.neighbors import ImageTangents


def test_tangents_as_array_are_those_of_the_function(digits):
    X, y, Xt, _ = digits
    tangents = ImageTangents((8, 8), kinds=["horizontal shift", "rotation"])
    by_function = HKNNClassifier(3, tangents=tangents).fit(X, y)
    by_array = HKNNClassifier(3, tangents=tangents(X), reference=np.arange(300))
    by_array.fit(X, y)
    np.testing.assert_allclose(by_array.distances(Xt), by_function.distances(Xt))
    without = HKNNClassifier(3).fit(X, y).distances(Xt)
    assert np.all(by_function.distances(Xt) <= without + 1e-12)


def test_tangents_forgive_what_they_describe(digits):
    """An image that moved a little along a tangent stays at distance zero."""
    X, y, *_ = digits
    tangents = ImageTangents((8, 8), kinds=["vertical shift"])
    model = HKNNClassifier(1, 0.0, tangents=tangents, loo_samples=0).fit(X, y)
    moved = X[:20] + 0.01 * tangents(X[:20])[:, 0]
    own = model.distances(moved)[np.arange(20), y[:20]]
    np.testing.assert_allclose(own, 0, atol=1e-9)


@pytest.mark.parametrize("kind", ImageTangents.kinds_known)
def test_image_tangents_are_derivatives(kind):
    """Of a smooth image, against moving the image itself."""
    grid = (np.arange(32) - 15.5) / 16
    y, x = np.meshgrid(grid, grid, indexing="ij")

    def image(x, y):
        return np.exp(-2 * ((x - 0.1) ** 2 + 2 * (y + 0.2) ** 2))

    e = 1e-5
    a, b = {
        "horizontal shift": (1, 0),
        "vertical shift": (0, 1),
        "rotation": (y, -x),
        "scaling": (x, y),
        "stretching": (x, -y),
        "diagonal stretching": (y, x),
        "thickening": (0, 0),
    }[kind]
    # Coordinates are in half-widths of 16 pixels, tangents move by pixels.
    wanted = (image(x + e * a, y + e * b) - image(x, y)) / e / 16
    if kind == "thickening":
        right = (image(x + e, y) - image(x, y)) / e / 16
        down = (image(x, y + e) - image(x, y)) / e / 16
        wanted = np.hypot(right, down)
    tangents = ImageTangents((32, 32), kinds=[kind], pixels=1.0)
    found = tangents(image(x, y).reshape(1, -1)).reshape(32, 32)
    np.testing.assert_allclose(found[2:-2, 2:-2], wanted[2:-2, 2:-2], atol=3e-3)


def test_a_disc_turns_into_itself():
    """Also in an image that is wider than high."""
    y, x = np.mgrid[:12, :24]
    disc = np.exp(-((y - 5.5) ** 2 + (x - 11.5) ** 2) / 8).reshape(1, -1)
    turned, shifted = ImageTangents((12, 24), ["rotation", "horizontal shift"])(disc)[0]
    assert np.abs(turned).max() < 0.05 * np.abs(shifted).max()


def test_image_tangents_are_linear_in_the_grey_values(digits):
    X = digits[0][:5]
    tangents = ImageTangents((8, 8))
    np.testing.assert_allclose(tangents(255 * X), 255 * tangents(X), rtol=1e-9)


@pytest.mark.parametrize(
    "tangents, message",
    [
        (np.zeros((3, 2, 64)), "tangents has shape"),
        (np.full((300, 1, 64), np.nan), "tangents holds NaN"),
        (lambda X: X[:, None] * np.nan, "tangents holds NaN"),
        (lambda X: X, "returned shape"),
        (ImageTangents((8, 8), pixels="3"), "pixels='3' must be a fin"),
        (ImageTangents((8, 8), pixels=np.nan), "pixels=nan must be a fin"),
        (ImageTangents((3, 3)), "shape=.* must be at least"),
        (ImageTangents(5), "must be .height, width."),
        (ImageTangents((8, 8), kinds=["up"]), "kinds=.* must name"),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0][:60],
)
def test_bad_tangents(tangents, message, digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match=message):
        HKNNClassifier(5, loo_samples=20, tangents=tangents).fit(X, y)
