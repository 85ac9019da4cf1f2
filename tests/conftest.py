"""Fixtures that every test file may ask for: seeded, and read-only where shared."""

import signal
from urllib.error import URLError

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.preprocessing import scale

from pursuit import _interrupts
from pursuit.datasets import _openml

# Compiled code makes the first example slow; fixed examples make runs repeatable.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def read_only(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def pytest_configure():
    """Let Ctrl-C be tested where a shell has started the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_interrupt_before(monkeypatch):
    """An interrupt of one test is no first half of the next one's."""
    monkeypatch.setattr(_interrupts, "_latest", [-np.inf])


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing is fetched unless a test says what."""

    def refuse(**request):
        raise URLError("no network in tests")

    monkeypatch.setattr(_openml, "fetch_openml", refuse)


@pytest.fixture
def rng():
    """A generator with a fixed seed, new for each test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def sinc():
    """Noisy sinc on the line: (X, y) with 120 rows, 1 column."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-8, 8, size=(120, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.05 * rng.standard_normal(120)
    return read_only(X, y)


@pytest.fixture(scope="session")
def regression():
    """Friedman's function: (X, y) with X standardized, 90 rows, 5 columns."""
    X, y = make_friedman1(90, n_features=5, noise=0.3, random_state=0)
    return read_only(scale(X), y)


@pytest.fixture(scope="session")
def diabetes():
    """Regression: (X, y) standardized, 442 rows, 10 columns."""
    X, y = load_diabetes(return_X_y=True)
    return read_only(scale(X), scale(y))


@pytest.fixture(scope="session")
def breast_cancer():
    """Two classes: (X, y) with X standardized, 569 rows, 30 columns, y 0/1."""
    X, y = load_breast_cancer(return_X_y=True)
    return read_only(scale(X), y)


@pytest.fixture(scope="session")
def iris():
    """Three classes: (X, y) with X standardized, 150 rows, 4 columns."""
    X, y = load_iris(return_X_y=True)
    return read_only(scale(X), y)


@pytest.fixture(scope="session")
def digits():
    """(X, y, Xt, yt): 300 and 120 images of 8 x 8 pixels in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    # Grey values are whole numbers: a little noise, lest neighbors be equally far.
    X = X / 16 + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
    return read_only(X[:300], y[:300], X[300:420], y[300:420])
