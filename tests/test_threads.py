"""Limits of threads may overlap, and hold for searches of other people."""

import os
import subprocess
import sys
import threading

import pytest
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_info, threadpool_limits

from pursuit import CKNNClassifier, HKNNClassifier, HKNNRegressor, _threads
from pursuit._threads import Pool, limited

CLASSIFIERS = [HKNNClassifier, CKNNClassifier]


def blas_threads():
    """The numbers of threads that the BLAS libraries have."""
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def test_thread_limits_may_overlap():
    """The first to enter leaves first; the last restores what was there."""
    has_entered, may_leave = threading.Event(), threading.Event()

    def other():
        with limited(2):
            has_entered.set()
            may_leave.wait(30)

    with threadpool_limits(3, user_api="blas"):
        thread = threading.Thread(target=other)
        with limited(1):
            thread.start()
            assert has_entered.wait(30)
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        may_leave.set()
        thread.join()
        assert blas_threads() == {3}


SEEN = []


class Recording(NearestNeighbors):
    """A search that notes the threads it is given."""

    def kneighbors(self, X, n_neighbors):
        SEEN.append(blas_threads())
        return super().kneighbors(X, n_neighbors)


@pytest.mark.parametrize("make", [*CLASSIFIERS, HKNNRegressor])
def test_n_jobs_holds_every_search(make, digits):
    X, y, Xt, _ = digits
    SEEN.clear()
    with threadpool_limits(3, user_api="blas"):
        model = make("auto", search=Recording(), loo_samples=20, n_jobs=2).fit(X, y)
        assert SEEN
        model.predict(Xt)
        assert blas_threads() == {3}
    assert all(seen == {2} for seen in SEEN)


def test_limits_hold_for_our_own_threads(monkeypatch):
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 4)
    assert Pool().n_threads == 4
    with limited(2):
        assert Pool().n_threads == 2
        with limited(1):
            assert Pool().n_threads == 1
    assert Pool().n_threads == 4


FORK = """
import multiprocessing, os, threading, warnings
warnings.simplefilter("ignore")  # of forks in processes with threads
import numpy as np
from pursuit import HKNNClassifier, KMPRegressor

X = np.random.default_rng(0).standard_normal((200, 4))
y = np.sin(X[:, 0])

def work():
    KMPRegressor("rbf", max_support=10).fit(X, y).predict(X)
    HKNNClassifier(5).fit(X, y > 0).predict(X)

def check_child():
    child = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    child.start()
    child.join(120)
    assert child.exitcode == 0, child.exitcode
    child.close()

work()
check_child()
busy = threading.Thread(target=lambda: [work() for _ in range(2)])
busy.start()
check_child()
busy.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_fit_after_and_during_fits():
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
