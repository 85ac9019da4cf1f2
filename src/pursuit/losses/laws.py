"""Tests for your own losses.

>>> from pursuit.losses import Huber, check_loss
>>> check_loss(Huber(delta=0.7))
"""

from __future__ import annotations

import numpy as np

from ._base import Loss

_STEP = 1e-6

# Share of samples at which a loss must have some curvature.
_LEAST_CURVED = 0.05

CURVE = (
    "smooth it, as Absolute does, and define curvature(y, f), or give weights(y, f): "
    "the curvature of a parabola that lies above the loss and touches it."
)


def check_loss(loss: Loss, n_samples: int = 200, seed: int = 0) -> None:
    """Raise an AssertionError that names the property which a loss violates.

    Parameters
    ----------
    loss : Loss
        Loss with numeric parameters.
    n_samples : int, default=200
        Number of pairs of targets and predictions to test.
    seed : int, default=0
        Seed of the random pairs.
    """
    loss.check_parameters()
    y, f = _samples(loss, n_samples, seed)
    _check_shapes(loss, y, f)
    _check_derivatives(loss, y, f)
    _check_curvatures(loss, y, f)
    _check_coupling(loss, y, f)
    if loss.is_convex:
        _check_convex(loss, y, f)
    _check_start(loss, y)


def check_on_targets(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> None:
    """Raise a ValueError if a loss cannot be fitted to these targets (T, l)."""
    F = np.repeat(loss.start(Y, weight)[:, None], Y.shape[1], axis=1)
    shapes = {"value": (Y.shape, Y.shape[1:]), "gradient": (Y.shape,)}
    for name, allowed in shapes.items():
        actual = getattr(loss, name)(Y, F)
        shape = np.shape(actual)
        if shape not in allowed:
            raise ValueError(
                f"loss={loss}: {name}(y, f) returned an array of shape {shape} for f "
                f"of shape {F.shape}; pursuit.losses.check_loss tells what is expected."
            )
        if not np.isfinite(actual).all():
            raise ValueError(
                f"loss={loss}: {name}(y, f) is NaN or infinite at the constant model "
                "on these targets."
            )
    if not np.any(loss.weights(Y, F) > 0):
        raise ValueError(
            f"loss={loss} has no curvature at the constant model, so that no step can "
            f"be found: {CURVE}"
        )


def _samples(loss: Loss, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return targets and predictions of three outputs, or of three classes."""
    rng = np.random.default_rng(seed)
    f = rng.normal(scale=1.5, size=(3, n))
    if loss.fits_classes:
        return np.where(rng.integers(3, size=n) == np.arange(3)[:, None], 1.0, -1.0), f
    y = f + rng.normal(scale=1.5, size=(3, n))
    try:
        loss.check_targets(y)
    except ValueError:
        y = np.abs(y)
    return y, f


def _say(law: str, loss: Loss, actual: np.ndarray, wanted: np.ndarray) -> str:
    worst = int(np.argmax(np.abs(actual - wanted)))
    return (
        f"{loss}: {law}; at the worst sample it is {np.ravel(actual)[worst]:.6g} "
        f"instead of {np.ravel(wanted)[worst]:.6g}"
    )


def _check_shapes(loss: Loss, y: np.ndarray, f: np.ndarray) -> None:
    value = loss.value(y, f)
    assert value.shape in (f.shape, f.shape[1:]), (
        f"{loss}: value(y, f) must have the shape of f, {f.shape}, got {value.shape}"
    )
    for name in ("gradient", "curvature", "weights"):
        shape = getattr(loss, name)(y, f).shape
        assert shape == f.shape, (
            f"{loss}: {name}(y, f) must have the shape of f, {f.shape}, got {shape}"
        )
    assert np.all(np.isfinite(value)), f"{loss}: value(y, f) must be finite"


def _slopes(loss: Loss, y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the derivatives of `value` in each output, by differences."""
    out = np.empty_like(f)
    for t in range(len(f)):
        step = np.zeros_like(f)
        step[t] = _STEP
        change = loss.value(y, f + step) - loss.value(y, f - step)
        # A loss that couples its outputs has one value per sample.
        out[t] = (change if change.ndim == 1 else change.sum(axis=0)) / (2 * _STEP)
    return out


def _check_derivatives(loss: Loss, y: np.ndarray, f: np.ndarray) -> None:
    actual, wanted = loss.gradient(y, f), _slopes(loss, y, f)
    assert np.allclose(actual, wanted, rtol=1e-5, atol=1e-6), _say(
        "gradient(y, f) is not the derivative of value(y, f)", loss, actual, wanted
    )


def _check_curvatures(loss: Loss, y: np.ndarray, f: np.ndarray) -> None:
    actual = loss.curvature(y, f)
    wanted = np.empty_like(f)
    for t in range(len(f)):
        step = np.zeros_like(f)
        step[t] = _STEP
        change = loss.gradient(y, f + step)[t] - loss.gradient(y, f - step)[t]
        wanted[t] = change / (2 * _STEP)
    near = np.isclose(actual, wanted, rtol=1e-4, atol=1e-5)
    # Differences may straddle a jump of the curvature.
    assert near.mean() > 0.99, _say(
        "curvature(y, f) is not the derivative of gradient(y, f)", loss, actual, wanted
    )
    weights = loss.weights(y, f)
    assert np.all(weights >= 0), f"{loss}: weights(y, f) are negative"
    assert np.mean(weights > 0) > _LEAST_CURVED, (
        f"{loss}: weights(y, f) are 0 nearly everywhere, so that no step can be found; "
        f"{CURVE}"
    )


def _check_coupling(loss: Loss, y: np.ndarray, f: np.ndarray) -> None:
    u = loss.coupling(y, f)
    u = np.zeros_like(f) if u is None else u
    assert u.shape == f.shape, (
        f"{loss}: coupling(y, f) must have the shape of f, {f.shape}, got {u.shape}"
    )
    step = np.zeros_like(f)
    step[0] = _STEP
    change = loss.gradient(y, f + step) - loss.gradient(y, f - step)
    actual, wanted = -u[0] * u[1:], change[1:] / (2 * _STEP)
    assert np.allclose(actual, wanted, rtol=1e-4, atol=1e-5), _say(
        "-u_s u_t, u of coupling(y, f), is not the second derivative in two outputs",
        loss,
        actual,
        wanted,
    )
    if loss.ignores_common_part:
        actual, wanted = loss.value(y, f + 1.0), loss.value(y, f)
        assert np.allclose(actual, wanted, rtol=1e-9, atol=1e-12), _say(
            "ignores_common_part is True, but adding 1 to all outputs changes the loss",
            loss,
            actual,
            wanted,
        )


def _check_convex(loss: Loss, y: np.ndarray, f: np.ndarray) -> None:
    g = f[:, ::-1] * 0.7
    middle = loss.value(y, (f + g) / 2)
    chord = (loss.value(y, f) + loss.value(y, g)) / 2
    assert np.all(middle <= chord + 1e-9 * (1 + np.abs(chord))), (
        f"{loss}: is_convex is True, but the loss lies above a chord"
    )


def _check_start(loss: Loss, y: np.ndarray) -> None:
    start = loss.start(y, np.ones(y.shape[1]))
    assert start.shape == (len(y),), (
        f"{loss}: start(y, weight) must give a number for each of {len(y)} outputs, "
        f"got the shape {start.shape}"
    )
    assert np.all(np.isfinite(start)), f"{loss}: start(y, weight) must be finite"
