"""Fits and predictions on Dask: the same model however partitions and workers are."""

import inspect
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pursuit.estimators.kmp.batch_planning as batch_planning
from pursuit import (
    HKNNClassifier,
    KMPClassifier,
    KMPRegressor,
    ManifoldParzen,
    SparseKernelPCA,
)

pytest.importorskip("distributed", reason="pursuit.dask needs the extra 'dask'")

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
from distributed import Client

from pursuit.dask import (
    DaskKMPClassifier,
    DaskKMPRegressor,
    DaskSparseKernelPCA,
    DaskVisits,
    map_rows,
)
from pursuit.dask import running as running_module
from pursuit.dask.graphs import TripGraph

N = 900
FIXED = {"kernel": "rbf", "gamma": 0.5, "alpha": 1e-3, "n_candidates": 60}
SIZED = FIXED | {"max_support": 12, "random_state": 0}
# Workers that are killed, or slow to start, may leave the cluster without any.
pytestmark = pytest.mark.filterwarnings("ignore:The cluster has no workers")
# Seconds that nothing here takes, unless it hangs.
LONG = 120


@pytest.fixture(autouse=True)
def small_part(monkeypatch):
    """Let little data be fitted as large data are."""
    monkeypatch.setattr(batch_planning, "PART_ROWS", 200)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def classes(numbers):
    X, y = numbers
    return X, np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 0.8])]


@pytest.fixture(scope="module")
def cluster():
    """A client of three worker processes."""
    with dask.config.set({"distributed.comm.timeouts.connect": "30s"}):
        client = Client(
            n_workers=3,
            threads_per_worker=1,
            dashboard_address=":0",
            set_as_default=False,
        )
        with client:
            yield client


def threads(n_workers):
    """Return a client of workers in this process, which start quickly."""
    return Client(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        set_as_default=False,
    )


def as_arrays(X, *others, rows=100):
    """Return dask arrays of chunks of some rows."""
    chunks = [da.from_array(X, chunks=(rows, -1))]
    return *chunks, *(da.from_array(other, chunks=rows) for other in others)


def local(kind, X, y, weight=None, **params):
    """Return the model that is fitted to blocks in this process."""
    block = (X, y) if weight is None else (X, y, weight)
    return kind(**params).fit_batches(lambda: iter([block]))


def assert_same(one, other):
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.support_vectors_, other.support_vectors_)
    scale = np.abs(other.dual_coef_).max()
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, atol=1e-8 * scale)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-8)
    assert one.alpha_ == pytest.approx(other.alpha_)


# -- the same model ----------------------------------------------------------------


@pytest.mark.parametrize("rows", [1000, 130, 37])
def test_partitions_do_not_matter(numbers, rows):
    X, y = numbers
    model = DaskKMPRegressor(**SIZED).fit(*as_arrays(X, y, rows=rows))
    assert_same(model, local(KMPRegressor, X, y, **SIZED))


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_workers_do_not_matter(numbers, n_workers):
    X, y = numbers
    with threads(n_workers) as client:
        model = DaskKMPRegressor(**SIZED, client=client).fit(*as_arrays(X, y))
    here = DaskKMPRegressor(**SIZED).fit(*as_arrays(X, y))
    np.testing.assert_array_equal(model.dual_coef_, here.dual_coef_)
    assert_same(model, local(KMPRegressor, X, y, **SIZED))


def test_processes_and_the_current_client(numbers, cluster):
    X, y = numbers
    expected = local(KMPRegressor, X, y, **SIZED)
    data = as_arrays(X, y)
    assert_same(DaskKMPRegressor(**SIZED, client=cluster).fit(*data), expected)
    with cluster.as_current():
        model = DaskKMPRegressor(**SIZED).fit(*data)
        assert_same(model, expected)
        assert model.score(*data) == pytest.approx(expected.score(X, y))
        np.testing.assert_allclose(model.predict(data[0]), expected.predict(X))


@pytest.mark.parametrize(
    "params",
    [
        {"max_support": 12, "random_state": 0},
        {"gamma": "cv", "alpha": "cv", "kernel": "rbf", "max_support": 10},
        SIZED | {"loss": "huber"},
        SIZED | {"selection": None},
    ],
    ids=["learned", "cv", "huber", "fixed"],
)
def test_settings(numbers, params):
    X, y = numbers
    model = DaskKMPRegressor(**params).fit(*as_arrays(X, y))
    assert_same(model, local(KMPRegressor, X, y, **params))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_classes_that_are_in_one_partition_only(classes, loss):
    X, y = classes
    order = np.argsort(y, kind="stable")
    X, y, params = X[order], y[order], SIZED | {"loss": loss}
    model = DaskKMPClassifier(**params).fit(*as_arrays(X, y))
    expected = local(KMPClassifier, X, y, **params)
    assert_same(model, expected)
    assert list(model.classes_) == ["high", "low", "middle"]
    assert model.score(*as_arrays(X, y)) == expected.score(X, y)


def test_weights_of_zero_and_rows_repeated_across_partitions(numbers):
    X, y = numbers
    weight = np.r_[np.zeros(250), np.ones(N - 250)]
    twice = as_arrays(np.r_[X[250:], X], np.r_[y[250:], y + 50 * (weight == 0)])
    weights = da.from_array(np.r_[weight[250:], weight], chunks=70)
    model = DaskKMPRegressor(**SIZED).fit(*twice, sample_weight=weights)
    assert_same(model, local(KMPRegressor, X[250:], y[250:], 2 * weight[250:], **SIZED))


def test_several_outputs(numbers):
    X, y = numbers
    Y = np.c_[y, X @ [1.0, 2.0, 3.0]]
    chunked = da.from_array(Y, chunks=(70, 1))
    model = DaskKMPRegressor(**SIZED).fit(as_arrays(X)[0], chunked)
    assert_same(model, local(KMPRegressor, X, Y, **SIZED))
    assert model.predict(as_arrays(X)[0]).shape == (N, 2)


def test_few_rows_are_fitted_as_usual(numbers):
    X, y = (data[:150] for data in numbers)
    model = DaskKMPRegressor(**SIZED).fit(*as_arrays(X, y))
    expected = KMPRegressor(**SIZED).fit_batches(lambda: iter([(X, y)]))
    np.testing.assert_allclose(model.predict(X), expected.predict(X))


def test_sparse_chunks(numbers):
    X, y = numbers
    X = np.where(X > 0, X, 0)
    A, b = as_arrays(X, y)
    A = A.map_blocks(sp.csr_matrix)
    model = DaskKMPRegressor(**SIZED).fit(A, b)
    expected = local(KMPRegressor, sp.csr_array(X), y, **SIZED)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(A), expected.predict(X), rtol=1e-6)


def test_unknown_sizes_and_empty_partitions(numbers):
    X, y = numbers
    far = [np.zeros((0, 3)), X[:300], np.zeros((0, 3)), X[300:], np.zeros((0, 3))]
    parts = [(dask.delayed(x), len(x)) for x in far]
    A = da.concatenate([da.from_delayed(x, (np.nan, 3), float) for x, _ in parts])
    ys = np.split(y, np.cumsum([n for _, n in parts])[:-1])
    b = da.concatenate([da.from_delayed(dask.delayed(v), (np.nan,), float) for v in ys])
    model = DaskKMPRegressor(**SIZED).fit(A, b)
    assert_same(model, local(KMPRegressor, X, y, **SIZED))
    np.testing.assert_allclose(model.predict(A).compute(), model.local_.predict(X))
    assert model.score(A, b) == pytest.approx(model.local_.score(X, y))


def frame_of(numbers, n=5):
    X, y = numbers
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return dd.from_pandas(frame.assign(y=y, other="word"), npartitions=n)


def test_frames(numbers):
    frame = frame_of(numbers)
    features = frame[["a", "b", "c"]]
    model = DaskKMPRegressor(**SIZED).fit(features, frame["y"])
    assert_same(model, local(KMPRegressor, *numbers, **SIZED))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    predictions = model.predict(features)
    assert isinstance(predictions, da.Array)
    expected = local(KMPRegressor, *numbers, **SIZED).predict(numbers[0])
    np.testing.assert_allclose(predictions.compute(), expected)
    assert model.score(features, frame["y"]) == pytest.approx(
        model.local_.score(features.compute(), numbers[1])
    )


def test_frames_with_empty_partitions_and_weights(numbers):
    X, y = numbers
    frame = frame_of(numbers).assign(weight=1.0)
    some = frame.map_partitions(lambda part: part[part.index > 400])
    model = DaskKMPRegressor(**SIZED).fit(some[["a", "b", "c"]], some.y, some.weight)
    assert_same(model, local(KMPRegressor, X[401:], y[401:], **SIZED))


def test_frames_from_files_read_only_their_columns(numbers, tmp_path):
    for i, part in enumerate(frame_of(numbers).partitions):
        part.compute().to_parquet(tmp_path / f"part-{i}.parquet")
    frame = dd.read_parquet(tmp_path)
    model = DaskKMPRegressor(**SIZED).fit(frame[["a", "b", "c"]], frame["y"])
    assert_same(model, local(KMPRegressor, *numbers, **SIZED))


def noted(part, calls=[]):  # noqa: B006
    """Return a partition, and count how often one was asked for."""
    calls.append(len(part))
    return part


@pytest.mark.parametrize("kind", ["arrays", "frames"])
def test_what_features_and_targets_share_is_computed_once_a_trip(numbers, kind):
    frame = frame_of(numbers)[["a", "b", "c", "y"]]
    frame = frame.map_partitions(noted, meta=frame._meta)
    X, y = frame[["a", "b", "c"]], frame["y"]
    if kind == "arrays":
        values = frame.to_dask_array()
        X, y = values[:, :3], values[:, 3]
    (calls,) = noted.__defaults__
    with dask.config.set(scheduler="synchronous"):
        calls.clear()
        model = DaskKMPRegressor(**SIZED).fit(X, y)
    assert len(calls) == 3 * 5
    assert_same(model, local(KMPRegressor, *numbers, **SIZED))


def test_many_partitions_are_merged_by_trees_in_one_order():
    class Named:
        name = "look"

    keys = [(i, None, None) for i in range(1000)]
    graph = TripGraph.of(Named(), keys)
    assert len(graph.trees) == 32
    merges = [v for v in graph.tasks.values() if isinstance(v, tuple) and len(v) == 2]
    assert max(len(some) for _, some in merges) == 4
    places = [graph.tasks[(graph.visits, i)][2] for i in range(1000)]
    assert places == list(range(1000))


# -- predictions -------------------------------------------------------------------


def test_predictions_are_lazy_and_alike(classes):
    X, y = classes
    A, b = as_arrays(X, y)
    model = DaskKMPClassifier(**SIZED, loss="logistic").fit(A, b)
    for method in (
        "predict",
        "decision_function",
        "predict_proba",
        "predict_log_proba",
    ):
        lazy, now = getattr(model, method)(A), getattr(model.local_, method)(X)
        assert lazy.dtype == now.dtype
        assert lazy.shape == now.shape
        assert lazy.chunks[0] == A.chunks[0]
        computed = lazy.compute()
        assert computed.dtype == now.dtype
        if now.dtype.kind == "U":
            np.testing.assert_array_equal(computed, now)
        else:
            np.testing.assert_allclose(computed, now)
        np.testing.assert_array_equal(getattr(model, method)(X), now)
    assert not hasattr(DaskKMPClassifier(loss="squared"), "predict_proba")
    assert not hasattr(DaskKMPRegressor(), "predict_proba")


@pytest.mark.parametrize(
    "model, method",
    [
        (ManifoldParzen(), "score_samples"),
        (HKNNClassifier(), "predict"),
        (SparseKernelPCA(n_components=2), "transform"),
        (KernelDensity(), "score_samples"),
        (make_pipeline(StandardScaler(), HKNNClassifier()), "predict"),
    ],
)
def test_any_estimator_over_partitions(classes, model, method):
    X, y = (data[:200] for data in classes)
    model = model.fit(X, y)
    now = getattr(model, method)(X)
    for data in (as_arrays(X)[0], dd.from_pandas(pd.DataFrame(X), npartitions=3)):
        lazy = map_rows(model, data, method)
        assert lazy.dtype == now.dtype
        assert lazy.shape[1:] == now.shape[1:]
        computed = lazy.compute()
        if now.dtype.kind == "f":
            np.testing.assert_allclose(computed, now, atol=1e-12)
        else:
            np.testing.assert_array_equal(computed, now)


def test_the_model_is_sent_once(numbers):
    X, y = numbers
    A, _ = as_arrays(X, y)
    model = ManifoldParzen().fit(X)
    graph = map_rows(model, A, "score_samples").__dask_graph__()
    held = [task for task in dict(graph).values() if "ManifoldParzen" in repr(task)]
    assert len(held) == 1


def test_frames_are_given_to_models_of_frames(numbers):
    frame = frame_of(numbers)[["a", "b", "c"]]
    model = ManifoldParzen().fit(frame.compute())
    lazy = map_rows(model, frame, "score_samples", meta=np.zeros(0))
    np.testing.assert_allclose(lazy, model.score_samples(frame.compute()))
    with pytest.raises(ValueError, match="feature names"):
        map_rows(model, frame[["b", "a", "c"]], "score_samples")


def test_errors_of_predictions(numbers):
    X, y = numbers
    (A,) = as_arrays(X)
    model = KMPRegressor(**SIZED).fit(X, y)
    with pytest.raises(ValueError, match="no method 'transform'"):
        map_rows(model, A, "transform")
    with pytest.raises(ValueError, match="expecting 3 features"):
        map_rows(model, A[:, :2])
    neighbors = NearestNeighbors(n_neighbors=2).fit(X)
    with pytest.raises(ValueError, match=r"\(2, 1, 2\) for one row"):
        map_rows(neighbors, A, "kneighbors")
    bad = X.copy()
    bad[450, 1] = np.nan
    lazy = map_rows(model, as_arrays(bad)[0])
    with pytest.raises(ValueError, match="partition 4: Input X contains NaN"):
        lazy.compute()
    with pytest.raises(ValueError, match="not fitted"):
        DaskKMPRegressor().predict(A)


# -- estimators --------------------------------------------------------------------


@pytest.mark.parametrize(
    "mine, other",
    [
        (DaskKMPRegressor, KMPRegressor),
        (DaskKMPClassifier, KMPClassifier),
        (DaskSparseKernelPCA, SparseKernelPCA),
    ],
)
def test_parameters_are_those_of_the_local_estimator(mine, other):
    names = dict(inspect.signature(mine).parameters)
    client = names.pop("client")
    assert client.default is None
    theirs = dict(inspect.signature(other).parameters)
    # Fits by blocks take the time that they need, and keep no models of folds.
    for name in ("max_time", "probability"):
        theirs.pop(name, None)
    assert [str(p) for p in names.values()] == [str(p) for p in theirs.values()]


def test_clones_share_the_client_and_pickles_leave_it_out(numbers):
    X, y = numbers
    with threads(1) as client:
        model = DaskKMPRegressor(**SIZED, client=client)
        other = clone(model)
        assert other.client is client
        assert other.get_params() == model.get_params()
        assert not hasattr(other.fit(*as_arrays(X, y)), "path")
        loaded = pickle.loads(pickle.dumps(other))
        nested = clone(make_pipeline(other))[-1]
        assert nested.client is client
        assert not hasattr(nested, "local_")
    assert loaded.client is None
    assert other.client is client
    assert_same(loaded, other)
    assert "client" in repr(model)
    assert loaded.set_params(max_support=3, selection=None).max_support == 3


def test_fitted_attributes_are_those_of_the_local_model(numbers):
    model = DaskKMPRegressor(**SIZED)
    with pytest.raises(AttributeError, match="n_support_"):
        _ = model.n_support_
    model.fit(*as_arrays(*numbers))
    assert isinstance(model.local_, KMPRegressor)
    assert model.n_support_ == model.local_.n_support_ <= 12
    assert model.n_features_in_ == 3
    assert str(model.summary()).startswith("KMPRegressor of ")
    assert not hasattr(model, "nothing_")
    assert not hasattr(model, "staged_predict")


def test_components(numbers):
    X, _ = numbers
    (A,) = as_arrays(X)
    params = {"n_components": 5, "subsample": 200, "random_state": 0}
    model = DaskSparseKernelPCA(**params).fit(A)
    expected = SparseKernelPCA(**params).fit(X)
    np.testing.assert_array_equal(model.support_vectors_, expected.support_vectors_)
    lazy = model.transform(A)
    assert lazy.chunks == (A.chunks[0], (5,))
    np.testing.assert_allclose(lazy, expected.transform(X), atol=1e-8)
    np.testing.assert_allclose(model.fit_transform(A), expected.transform(X), atol=1e-8)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=1e-8)


def test_grid_search(numbers):
    X, y = numbers
    search = GridSearchCV(
        DaskKMPRegressor(**FIXED), {"max_support": [2, 12]}, cv=2, error_score="raise"
    )
    search.fit(*as_arrays(X, y))
    assert search.best_params_ == {"max_support": 12}
    assert search.best_estimator_.score(*as_arrays(X, y)) > 0.5


def test_fits_of_other_estimators_take_visits(numbers):
    X, y = numbers
    visits = DaskVisits(*as_arrays(X, y))
    assert repr(visits) == "DaskVisits(9 partitions)"
    assert_same(
        KMPRegressor(**SIZED).fit_batches(visits), local(KMPRegressor, X, y, **SIZED)
    )


def test_fits_within_a_task(numbers):
    X, y = numbers

    def fit(X, y):
        batch_planning.PART_ROWS = 200
        A, b = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
        return DaskKMPRegressor(**SIZED).fit(A, b).local_

    with threads(1) as client:
        model = client.submit(fit, X, y).result(timeout=LONG)
    assert_same(model, local(KMPRegressor, X, y, **SIZED))


@pytest.mark.parametrize("has_client", [False, True])
def test_progress(numbers, capsys, has_client):
    with threads(1) as client:
        params = SIZED | {"verbose": 1, "client": client if has_client else None}
        DaskKMPRegressor(**params).fit(*as_arrays(*numbers))
    shown = capsys.readouterr().err
    for trip in ("look", "draw", "products"):
        assert trip in shown
    assert "900/900" in shown


def test_names_of_tasks(numbers):
    """The dashboard shows the first part of a key."""
    seen = set()

    class Watch(distributed.diagnostics.plugin.SchedulerPlugin):
        def transition(self, key, start, finish, *args, **kwargs):
            seen.add(dask.utils.key_split(key))

    with threads(1) as client:
        client.cluster.scheduler.add_plugin(Watch())
        data = as_arrays(*numbers, rows=20)
        model = DaskKMPRegressor(**SIZED, client=client).fit(*data)
        client.compute(model.predict(data[0])).result()
    trips = {f"pursuit-{trip}" for trip in ("look", "draw", "products")}
    assert trips | {f"{trip}-merge" for trip in trips} <= seen
    assert "pursuit-predict" in seen


# -- errors ------------------------------------------------------------------------


def test_errors_in_a_partition_name_it(numbers, cluster):
    X, y = (data.copy() for data in numbers)
    X[450, 1] = np.nan
    for client in (None, cluster):
        model = DaskKMPRegressor(**SIZED, client=client)
        with pytest.raises(ValueError, match="^partition 4, row 51, column 1: the val"):
            model.fit(*as_arrays(X, y))
    y[450] = np.inf
    with pytest.raises(ValueError, match="partition 4, row 51, target: the value is i"):
        DaskKMPRegressor().fit(*as_arrays(numbers[0], y))
    weight = np.full(N, -1.0)
    with pytest.raises(ValueError, match="partition 0, row 1: the weight is -1"):
        DaskKMPRegressor().fit(*as_arrays(*numbers, weight))
    with pytest.raises(ValueError, match="partition 0.*use KMPRegressor"):
        DaskKMPClassifier().fit(*as_arrays(*numbers))


def test_errors_in_frames_name_the_column(numbers):
    frame = frame_of(numbers)
    with pytest.raises(ValueError, match="not numbers: 'other'"):
        DaskKMPRegressor().fit(frame[["a", "other"]], frame["y"])
    frame = frame.assign(kind=frame["other"].astype("category"))
    with pytest.raises(ValueError, match=r"'kind' \(category\)"):
        DaskKMPRegressor().fit(frame[["a", "kind"]], frame["y"])
    missing = frame.map_partitions(
        lambda part: part.assign(a=part["a"].mask(part.index == 200))
    )
    with pytest.raises(ValueError, match="partition 1, row 21, column 'a': the value"):
        DaskKMPRegressor().fit(missing[["a", "b"]], missing["y"])


def wrong_divisions(numbers):
    X, y = numbers
    A, b = as_arrays(X, y)
    frame = frame_of(numbers)
    a = frame[["a", "b", "c"]]
    yield X, b, "X is of type numpy.ndarray"
    yield pd.DataFrame(X), b, "X is of type pandas.DataFrame"
    yield A, y, "y is of type numpy.ndarray"
    yield A.rechunk((100, 1)), b, r"divided by columns.*X.rechunk\({1: -1}\)"
    yield A[:, 0], b, r"X has the shape \(900,\): a table"
    yield A, b[:-1], "y has 899 rows, X has 900"
    yield a.to_dask_array(), b, "y has 9 partitions, X has 5"
    yield a, b, "y has 9 partitions, X has 5"
    yield a, frame_of(numbers, 4)["y"], "y has 4 partitions, X has 5"
    yield A, da.ones((9, 9, 9)), r"y has the shape \(9, 9, 9\)"
    yield A.astype("U9"), b, "X is an array of type <U9"
    moved = frame["y"].repartition(divisions=[0, 100, 300, 500, 700, 899])
    yield a, moved, r"different values.*y.repartition\(divisions=X.divisions\)"


def test_data_that_are_divided_otherwise(numbers):
    for X, y, message in wrong_divisions(numbers):
        with pytest.raises(ValueError, match=message):
            DaskKMPRegressor(**SIZED).fit(X, y)


def test_partitions_of_other_lengths(numbers):
    X, y = numbers
    A = da.concatenate(
        [da.from_delayed(dask.delayed(x), (np.nan, 3), float) for x in (X[:5], X[5:])]
    )
    b = da.concatenate(
        [da.from_delayed(dask.delayed(v), (np.nan,), float) for v in (y[:6], y[6:])]
    )
    with pytest.raises(ValueError, match="partition 0: X has 5 rows, y has 6"):
        DaskKMPRegressor().fit(A, b)
    with pytest.raises(ValueError, match="sample_weight has the shape"):
        DaskKMPRegressor().fit(A, b, A)


def test_clients_that_are_none(numbers):
    with pytest.raises(TypeError, match="client='tcp://x:1'"):
        DaskKMPRegressor(client="tcp://x:1").fit(*as_arrays(*numbers))


def test_no_rows():
    empty = da.zeros((0, 3), chunks=(5, 3)), da.zeros(0, chunks=5)
    with pytest.raises(ValueError, match="no rows"):
        DaskKMPRegressor().fit(*empty)


def test_errors_of_the_users_tasks_come_through(numbers):
    def fail(part):
        raise OSError("the disk is gone")

    A, b = as_arrays(*numbers)
    with (
        threads(1) as client,
        pytest.raises(OSError, match="the disk is gone"),
    ):
        DaskKMPRegressor(client=client).fit(A.map_blocks(fail, meta=A._meta), b)


# -- faults ------------------------------------------------------------------------


def slow(array, seconds):
    """Return an array whose chunks take some time to compute."""

    def wait(part, seconds=seconds):
        time.sleep(seconds)
        return part

    return array.map_blocks(wait, meta=array._meta)


def pids_of(client):
    """Return the processes of the workers, in the order of their addresses."""
    return [pid for _, pid in sorted(client.run(os.getpid).items())]


def wait_for_two(client):
    """Wait until two workers are there; start one more if a nanny has given up."""
    try:
        client.wait_for_workers(2, timeout=LONG / 2)
    except distributed.TimeoutError:
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
        client.wait_for_workers(2, timeout=LONG)


def fit_while_workers_die(numbers, client, n_runs, seed):
    X, y = numbers
    A, b = as_arrays(X, y, rows=50)
    A = slow(A, 0.02)
    expected = local(KMPRegressor, X, y, **SIZED)
    rng = np.random.default_rng(seed)
    moments = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(n_runs):
            wait_for_two(client)
            pid = rng.choice(pids_of(client))
            start = time.monotonic()
            fit = pool.submit(DaskKMPRegressor(**SIZED, client=client).fit, A, b)
            time.sleep(rng.uniform(0, 1.2))
            moments.append((time.monotonic() - start, fit.done()))
            os.kill(pid, signal.SIGKILL)
            assert_same(fit.result(timeout=LONG), expected)
    # A worker that dies after the fit shows nothing.
    assert sum(is_late for _, is_late in moments) <= n_runs // 2, moments


def test_a_lost_worker_does_not_matter(numbers, cluster):
    fit_while_workers_die(numbers, cluster, 2, seed=0)


@pytest.mark.slow
def test_a_lost_worker_does_not_matter_in_20_runs(numbers, cluster):
    fit_while_workers_die(numbers, cluster, 20, seed=1)


def test_persisted_data_that_are_lost_are_computed_again(numbers, cluster):
    X, y = numbers
    wait_for_two(cluster)
    with cluster.as_current():
        A, b = dask.persist(*as_arrays(X, y))
        distributed.wait([A, b])
    os.kill(pids_of(cluster)[0], signal.SIGKILL)
    model = DaskKMPRegressor(**SIZED, client=cluster).fit(A, b)
    assert_same(model, local(KMPRegressor, X, y, **SIZED))


def test_scattered_data_that_are_lost_are_an_error(numbers, cluster):
    X, y = numbers
    wait_for_two(cluster)
    parts = cluster.scatter([X[i : i + 300] for i in (0, 300, 600)])
    A = da.concatenate([da.from_delayed(x, (300, 3), float) for x in parts])
    b = as_arrays(X, y)[1]
    model = DaskKMPRegressor(**SIZED, client=cluster)
    assert_same(model.fit(A, b), local(KMPRegressor, X, y, **SIZED))
    homes = {
        worker for workers in cluster.who_has(parts).values() for worker in workers
    }
    for address, pid in cluster.run(os.getpid).items():
        if address in homes:
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="broadcast=True"):
        model.fit(A, b)


def test_ctrl_c_cancels_the_tasks(numbers):
    A, b = as_arrays(*numbers, rows=10)
    with threads(1) as client:
        model = DaskKMPRegressor(**SIZED, client=client)
        press = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        press.start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.fit(slow(A, 0.2), b)
        assert time.monotonic() - start < 10
        for _ in range(100):
            if not client.processing() or not any(client.processing().values()):
                break
            time.sleep(0.1)
        assert not any(client.processing().values())
        assert not hasattr(model, "local_")


def test_a_cluster_without_workers_is_told(numbers, monkeypatch):
    monkeypatch.setattr(running_module, "_PATIENCE", 0.2)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        late = threading.Timer(1.0, cluster.scale, (1,))
        late.start()
        with pytest.warns(UserWarning, match="no workers: the fit waits"):
            model = DaskKMPRegressor(**SIZED, client=client).fit(*as_arrays(*numbers))
    assert_same(model, local(KMPRegressor, *numbers, **SIZED))


def test_threads_of_blas_are_shared(monkeypatch):
    from pursuit._threads import usable_threads
    from pursuit.dask.tasks import _shared_processors

    def count():
        with _shared_processors():
            return usable_threads()

    assert count() == 1
    with Client(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=":0",
        set_as_default=False,
    ) as client:
        assert client.submit(count).result() == 1
    with threads(1) as client:
        assert client.submit(count).result() == usable_threads()
