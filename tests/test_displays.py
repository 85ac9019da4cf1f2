"""Pictures of searches, support points, densities, neighbors and bounds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pursuit import (
    CKNNClassifier,
    HKNNClassifier,
    HKNNRegressor,
    KMPClassifier,
    KMPRegressor,
    ManifoldParzen,
    ParzenWindows,
    SparseKernelPCA,
)
from pursuit.dictionaries import Features, OneKernel
from pursuit.inspection import (
    BoundDisplay,
    DensityDisplay,
    NeighborsDisplay,
    PathDisplay,
    SearchDisplay,
    SupportDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def patients():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def searched(flowers):
    X, y = flowers
    model = make_pipeline(StandardScaler(), KMPClassifier("rbf", max_support=12))
    return model.fit(X, y)


@pytest.fixture(scope="module")
def learned(patients):
    return KMPRegressor(max_support=8).fit(*patients)


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


# -- sizes -------------------------------------------------------------------------


@pytest.mark.parametrize("size_scale", ["linear", "log"])
def test_sizes_are_whole_numbers_and_the_chosen_one_is_named(searched, size_scale):
    display = PathDisplay.from_search(searched, size_scale=size_scale)
    display.figure_.canvas.draw()
    ax, n = display.ax_, searched[-1].n_support_
    assert ax.get_xscale() == size_scale
    low, high = ax.get_xlim()
    shown = [
        tick for tick in ax.get_xticklabels() if low <= tick.get_position()[0] <= high
    ]
    assert len(shown) > 2
    assert all(float(tick.get_text().replace("−", "-")).is_integer() for tick in shown)
    assert display.line_.get_xdata()[0] == (1 if size_scale == "log" else 0)
    assert texts(ax.get_legend()) == ["± 1 standard error", f"chosen: {n}"]


def test_an_unknown_scale(searched):
    with pytest.raises(ValueError, match=r"size_scale='lag'.*Did you mean 'log'"):
        PathDisplay.from_search(searched, size_scale="lag")


# -- searches ----------------------------------------------------------------------


def test_a_grid_shows_the_lowest_errors_of_what_was_tried(searched):
    display = SearchDisplay.from_estimator(searched)
    model = searched[-1]
    gammas = sorted({t["gamma"] for t in model.search_})
    alphas = sorted({t["alpha"] for t in model.search_})
    assert display.errors_.shape == (len(alphas), len(gammas))
    for trial in model.search_:
        place = alphas.index(trial["alpha"]), gammas.index(trial["gamma"])
        assert display.errors_[place] == trial["errors"].min()
    n_tried = len({(t["gamma"], t["alpha"]) for t in model.search_})
    assert np.isfinite(display.errors_).sum() == n_tried
    drawn = display.mesh_.get_array()
    np.testing.assert_array_equal(drawn.filled(np.nan), display.errors_)
    x, y = (values[0] for values in display.chosen_.get_data())
    assert gammas[int(x)] == model.gamma_
    assert alphas[int(y)] == model.alpha_
    labels = [float(text.get_text()) for text in display.ax_.get_yticklabels()]
    assert labels == pytest.approx(alphas)
    assert display.ax_.get_xlabel() == "gamma"
    assert display.figure_.axes[1].get_ylabel().endswith("(star: chosen)")


def test_rounds_of_a_learned_kernel_are_a_line_for_each_family(learned):
    display = SearchDisplay.from_estimator(learned)
    rounds = [t for t in learned.search_ if "round" in t]
    last = {}
    for trial in rounds:
        if trial["metric"] is not None:
            last[f"{trial['kernel']}, {trial['metric']} metric"] = trial
    assert set(last) <= set(display.errors_)
    for label, trial in last.items():
        assert display.errors_[label][-1] == trial["errors"].min()
    lowest = min(errors.min() for errors in display.errors_.values())
    assert display.chosen_.get_ydata()[0] == lowest
    assert display.ax_.get_xlabel() == "Round"
    assert {*texts(display.ax_.get_legend())} == {*display.errors_, "lowest"}
    grid = SearchDisplay.from_estimator(learned, kind="grid")
    assert grid.mesh_ is not None
    assert np.isfinite(grid.errors_).sum() == len(
        {(t["gamma"], t["alpha"]) for t in learned.search_ if "round" not in t}
    )


def test_a_search_without_a_width(flowers):
    X, y = flowers
    model = KMPClassifier("linear", max_support=4).fit(X, y)
    display = SearchDisplay.from_estimator(model)
    assert display.errors_.shape[1] == 1
    assert display.ax_.get_xticklabels()[0].get_text() == "–"
    assert display.chosen_ is not None


def test_searches_that_cannot_be_drawn(flowers, searched):
    X, y = flowers
    with pytest.raises(ValueError, match="kind='rounds': the search has no rounds"):
        SearchDisplay.from_estimator(searched, kind="rounds")
    with pytest.raises(ValueError, match="kind='rows' is not known"):
        SearchDisplay.from_estimator(searched, kind="rows")
    fixed = KMPClassifier(gamma=1.0, alpha=0.1, selection=None, max_support=3)
    with pytest.raises(NotFittedError):
        SearchDisplay.from_estimator(fixed)
    with pytest.raises(ValueError, match=r"has compared nothing \(selection=None"):
        SearchDisplay.from_estimator(fixed.fit(X, y))
    with pytest.raises(TypeError, match="SVC keeps no such search.*KMPClassifier"):
        SearchDisplay.from_estimator(SVC().fit(X, y))


# -- support points ----------------------------------------------------------------


def test_support_points_are_ringed_by_their_coefficients(flowers):
    X, y = flowers
    model = KMPClassifier("rbf", max_support=10).fit(X, y)
    _, ax = plt.subplots()
    display = SupportDisplay.from_estimator(model, X, y, features=(3, 0), ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(
        display.support_.get_offsets(), model.support_vectors_[:, [3, 0]]
    )
    areas, weights = display.support_.get_sizes(), np.abs(model.dual_coef_).max(axis=0)
    np.testing.assert_array_equal(np.argsort(areas), np.argsort(weights))
    assert len(display.points_) == 3
    for label, points in enumerate(display.points_):
        np.testing.assert_array_equal(points.get_offsets(), X[y == label][:, [3, 0]])
    colors = {tuple(points.get_facecolor()[0]) for points in display.points_}
    assert len(colors) == 3
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x3", "x0")
    n = model.n_support_
    assert texts(ax.get_legend()) == ["0", "1", "2", f"{n} support points"]


def test_more_columns_are_seen_along_principal_components(searched, flowers):
    X, y = flowers
    display = SupportDisplay.from_estimator(searched, X, y)
    assert display.ax_.get_xlabel().startswith("Principal component 1 (73%")
    # Each ring is around the row on which its function stands.
    rows = np.concatenate([points.get_offsets() for points in display.points_])
    rows = rows[np.argsort(np.argsort(y, kind="stable"), kind="stable")]
    np.testing.assert_allclose(
        display.support_.get_offsets(), rows[searched[-1].support_], atol=1e-9
    )


def test_targets_of_a_regression_are_shades(patients):
    X, y = patients
    model = KMPRegressor("rbf", max_support=5).fit(X, y)
    display = SupportDisplay.from_estimator(model, X, y, features=("bmi", "s5"))
    (points,) = display.points_
    np.testing.assert_array_equal(points.get_array(), y)
    np.testing.assert_array_equal(points.get_offsets(), X[["bmi", "s5"]])
    assert display.ax_.get_ylabel() == "s5"


def test_the_support_vectors_of_an_svm(flowers):
    X, y = flowers
    machine = SVC().fit(X, y)
    display = SupportDisplay.from_estimator(machine, X, y)
    assert len(display.support_.get_offsets()) == machine.n_support_.sum()


def test_support_points_that_cannot_be_drawn(flowers, patients):
    X, y = flowers
    model = KMPClassifier("rbf", gamma=0.5, alpha=0.1, max_support=5, selection=None)
    model.fit(X, y)
    for features, told in [
        ((0, 4), "no column 4 among 4, which are 'x0', 'x1', 'x2', 'x3'"),
        (("x0", "petal"), "no column 'petal'"),
        ((1, 1), "names one column twice"),
        ("x0", "must be two columns"),
        ((0, 1, 2), "must be two columns"),
        ((True, 2), "no column True"),
    ]:
        with pytest.raises(ValueError, match=told):
            SupportDisplay.from_estimator(model, X, y, features=features)
    with pytest.raises(ValueError, match=r"y has shape \(3,\).*150 rows"):
        SupportDisplay.from_estimator(model, X, y[:3])
    with pytest.raises(TypeError, match="LinearRegression has no support points"):
        SupportDisplay.from_estimator(LinearRegression().fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        SupportDisplay.from_estimator(clone(model), X, y)
    one = clone(model).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="one column, and the picture needs two"):
        SupportDisplay.from_estimator(one, X[:, :1], y)
    mixed = KMPRegressor(dictionary=Features() + OneKernel(), selection=None)
    mixed.set_params(alpha=0.1, max_support=8).fit(X, y)
    with pytest.raises(ValueError, match=r"needs a kernel on each"):
        SupportDisplay.from_estimator(mixed, X, y)


def test_a_model_without_support_points(flowers):
    X, y = flowers
    model = KMPClassifier("rbf", gamma=0.5, alpha=0.1, max_support=5, selection=None)
    empty = model.fit(X, y).truncate(0)
    display = SupportDisplay.from_estimator(empty, X, y)
    assert "0 support points" in texts(display.ax_.get_legend())


# -- densities ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "density", [ManifoldParzen(5), ParzenWindows(0.3), KernelDensity(bandwidth=0.3)]
)
def test_contours_show_the_density(flowers, density):
    X = flowers[0][:, 2:]
    density.fit(X)
    display = DensityDisplay.from_estimator(density, X, resolution=7, depth=5.0)
    for i, j in [(0, 0), (3, 5), (6, 6)]:
        point = [[display.x0[j], display.x1[i]]]
        wanted = density.score_samples(point)[0]
        assert display.log_density[i, j] == pytest.approx(wanted, rel=1e-9)
    assert display.x0[0] < X[:, 0].min() < X[:, 0].max() < display.x0[-1]
    levels = display.contours_.levels
    assert levels[-1] - levels[0] == pytest.approx(5.0)
    assert levels[-1] == pytest.approx(display.log_density.max())
    np.testing.assert_array_equal(display.points_.get_offsets(), X)


def test_other_columns_stay_at_their_medians(flowers):
    X = pd.DataFrame(flowers[0], columns=list("abcd"))
    density = make_pipeline(StandardScaler(), ParzenWindows(0.5)).fit(X)
    with pytest.raises(ValueError, match="X has 4 columns: name the two to draw"):
        DensityDisplay.from_estimator(density, X)
    display = DensityDisplay.from_estimator(
        density, X, features=("d", "a"), resolution=5
    )
    rows = np.tile(np.median(density[:-1].transform(X), axis=0), (5, 1))
    rows[:, 3], rows[:, 0] = display.x0, display.x1[2]
    np.testing.assert_allclose(display.log_density[2], density[-1].score_samples(rows))
    assert display.points_ is None
    assert "medians" in display.ax_.get_title()
    assert display.ax_.get_xlabel() == "d"


def test_densities_that_cannot_be_drawn(flowers):
    X, y = flowers
    with pytest.raises(TypeError, match="SVC has no score_samples.*ManifoldParzen"):
        DensityDisplay.from_estimator(SVC().fit(X, y), X)
    with pytest.raises(NotFittedError):
        DensityDisplay.from_estimator(ManifoldParzen(), X)
    density = ParzenWindows(0.1).fit(X[:, :2])
    for name, value in [("resolution", 1), ("depth", 0.0), ("depth", "deep")]:
        with pytest.raises(ValueError, match=name):
            DensityDisplay.from_estimator(density, X[:, :2], **{name: value})
    with pytest.raises(ValueError, match="NaN"):
        DensityDisplay.from_estimator(density, np.full((3, 2), np.nan))
    nowhere = {"x0": X[:3, 0], "x1": X[:3, 1], "log_density": np.full((3, 3), -np.inf)}
    with pytest.raises(ValueError, match="zero, or unknown, everywhere"):
        DensityDisplay(**nowhere).plot()


def test_equal_rows_have_a_picture_too():
    X = np.ones((5, 2))
    display = DensityDisplay.from_estimator(ParzenWindows(0.5).fit(X), X, resolution=9)
    assert display.x0[0] < 1.0 < display.x0[-1]
    assert display.log_density.argmax() == 40


# -- neighbors ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [HKNNClassifier, CKNNClassifier])
def test_pictures_are_the_neighbors_in_each_class(make):
    X, y = load_digits(return_X_y=True)
    X, y, query, *_ = X[100:500], y[100:500], X[0], y[0]
    model = make(3).fit(X, y)
    display = NeighborsDisplay.from_estimator(
        model, X, y, query, image_shape=(8, 8), n_classes=4
    )
    order = model.classes_[np.argsort(model.distances(query[None])[0])]
    assert list(display.neighbors) == order.tolist()
    for label, rows in display.neighbors.items():
        lengths = np.linalg.norm(X[y == label] - query, axis=1)
        wanted = np.sort(lengths)[:3]
        assert np.all(y[rows] == label)
        np.testing.assert_allclose(np.linalg.norm(X[rows] - query, axis=1), wanted)
    mosaic = np.asarray(display.mosaic_.get_array())
    np.testing.assert_array_equal(mosaic[1:9, 1:9], query.reshape(8, 8))
    # The second neighbor of the second class: rows of 10 pixels, a gap of 3.
    second = X[display.neighbors[order[1]][1]].reshape(8, 8)
    np.testing.assert_array_equal(mosaic[11:19, 24:32], second)
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [str(label) for label in order[:4]]
    assert display.ax_.get_title() == f"Predicted: {model.predict(query[None])[0]}"


def test_neighbors_of_scikit_learn_are_those_it_finds(flowers):
    X, y = flowers
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(9)).fit(X, y)
    query = X[76] + 0.01
    display = NeighborsDisplay.from_estimator(model, X, y, query)
    seen = model[:-1].transform(query[None])
    rows = np.concatenate([*display.neighbors.values()])
    assert set(rows) == set(model[-1].kneighbors(seen, return_distance=False)[0])
    assert set(display.neighbors) == set(y[rows])
    assert sum(len(points.get_offsets()) for points in display.points_) == 9


@pytest.mark.parametrize("make", [HKNNRegressor, KNeighborsRegressor])
def test_neighbors_of_a_regressor_are_one_group(make, patients):
    X, y = patients
    model = make(4).fit(X, y)
    query = X.iloc[7] + 0.001
    display = NeighborsDisplay.from_estimator(model, X, y, query, features=("age", 2))
    (rows,) = display.neighbors.values()
    wanted = np.argsort(np.linalg.norm(X - query, axis=1))[:4]
    assert set(rows) == set(wanted)
    np.testing.assert_array_equal(
        display.query_.get_offsets()[0], query[["age", "bmi"]]
    )
    answer = model.predict(query.to_frame().T)[0]
    assert display.ax_.get_title() == f"Predicted: {answer:.4g}"


def test_neighbors_among_few_reference_rows(flowers):
    X, y = flowers
    kept = np.arange(0, 150, 7)
    model = HKNNClassifier(3, reference=kept).fit(X, y)
    display = NeighborsDisplay.from_estimator(model, X, y, X[1], features=(0, 1))
    rows = np.concatenate([*display.neighbors.values()])
    assert set(rows) <= set(kept)
    assert len(rows) == 9


def test_neighbors_that_cannot_be_drawn(flowers):
    X, y = flowers
    model = HKNNClassifier(3).fit(X, y)
    draw = NeighborsDisplay.from_estimator
    for how, told in [
        ((X[::-1] + 1, y, X[0]), "150 rows of X are not those to which the HKNN"),
        ((X[:4], y[:4], X[0]), "4 rows of X are not those"),
        ((X, y[:9], X[0]), "X has 150 rows, and y 9"),
        ((X, y, X[:2]), r"query has shape \(2, 4\)"),
        ((X, y, X[0, :3]), "query has 3 columns, and X has 4"),
    ]:
        with pytest.raises(ValueError, match=told):
            draw(model, *how)
    for shape in [(2, 3), (4,), (2.0, 2), "4", (-2, -2)]:
        with pytest.raises(ValueError, match="image_shape=.*number of columns, 4"):
            draw(model, X, y, X[0], image_shape=shape)
    with pytest.raises(ValueError, match="n_classes=0"):
        draw(model, X, y, X[0], image_shape=(2, 2), n_classes=0)
    with pytest.raises(TypeError, match="SVC has no neighbors.*HKNNClassifier"):
        draw(SVC().fit(X, y), X, y, X[0])
    with pytest.raises(NotFittedError):
        draw(HKNNClassifier(), X, y, X[0])


# -- bounds ------------------------------------------------------------------------


def test_a_bound_is_drawn_at_every_size(searched, flowers):
    X, y = flowers
    model = KMPClassifier("rbf", gamma=0.5, alpha=0.01, max_support=12)
    model = make_pipeline(StandardScaler(), model).fit(X, y > 0)
    seen = model[:-1].transform(X)
    curve = model[-1].bound(seen, y > 0, "vc", delta=0.1)
    display = BoundDisplay.from_estimator(
        model, X, y > 0, bound_params={"kind": "vc", "delta": 0.1}, name="iris"
    )
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.values)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(len(curve)))
    assert display.lowest_.get_xdata()[0] == curve.best_size
    assert display.lowest_.get_ydata()[0] == curve.lowest
    assert display.chosen_.get_xdata()[0] == model[-1].n_support_
    assert (display.ceiling_ is not None) == (curve.values.max() >= 1.0)
    assert texts(display.ax_.get_legend())[0] == "iris"


def test_the_bound_of_components_shows_its_terms(flowers):
    model = SparseKernelPCA(20).fit(flowers[0])
    display = BoundDisplay.from_estimator(model, size_scale="log")
    curve = model.path_.bound()
    np.testing.assert_array_equal(display.terms_.get_ydata(), curve.terms[1:])
    assert display.chosen_ is None


def test_bounds_that_cannot_be_drawn(flowers, searched):
    X, y = flowers
    with pytest.raises(ValueError, match="pass the X and y of its fit"):
        BoundDisplay.from_estimator(searched)
    with pytest.raises(TypeError, match="SVC has no bound for every size"):
        BoundDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="150"):
        BoundDisplay.from_estimator(searched, X[:20], y[:20])
    with pytest.raises(NotFittedError):
        BoundDisplay.from_estimator(KMPClassifier(), X, y)
