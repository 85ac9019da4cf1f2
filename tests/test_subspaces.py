"""Distances to local hyperplanes and hulls against quadratic programmes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naming import named
from reference import hull_by_programme, hyperplane_by_least_squares
from scipy.optimize import minimize

from pursuit.neighbors import gram_path, hull_distance, hyperplane_distance
from pursuit.neighbors.neighborhoods import Neighborhoods
from pursuit.neighbors.queries import Query, no_tangents
from pursuit.neighbors.subspaces import Hyperplanes

PENALTIES = [0.0, 1e-9, 1e-3, 0.1, 10.0]


def neighborhoods():
    """Names of kinds of neighborhoods, and (x, N) of each."""
    rng = np.random.default_rng(0)
    N = rng.standard_normal((6, 10))
    x = rng.standard_normal(10)
    few = rng.standard_normal((12, 3))
    line = np.add.outer(np.zeros(5), [3.0, 0.0, 1.0])
    line += np.outer(np.arange(5.0), [1.0, 2.0, -1.0])
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return {
        "one": (x, N[:1]),
        "random": (x, N),
        "itself": (N[2], N),
        "all equal": (x, N[[0, 0, 0, 0]]),
        "duplicates": (x, N[[0, 1, 1, 2, 2, 2]]),
        "more than dimensions, inside": (few.mean(axis=0), few),
        "more than dimensions, outside": (np.array([5.0, 4.0, 3.0]), few),
        "collinear": (np.array([1.0, 1.0, 1.0]), line),
        "collinear, on the line": (line[0] + 0.3 * (line[1] - line[0]), line),
        "collinear, beyond the end": (line[0] - (line[1] - line[0]), line),
        "on an edge": (np.array([0.5, 0.0]), square),
        "inside a square": (np.array([0.3, 0.6]), square),
        "off a corner": (np.array([2.0, 2.0]), square),
        "far origin": (x + 1e5, N + 1e5),
        "tiny": (1e-12 * x, 1e-12 * N),
        "huge": (1e12 * x, 1e12 * N),
        "one dimension": (np.array([0.2]), np.array([[0.0], [1.0], [3.0]])),
        "nearly equal": (x, N[[0, 0, 1]] + 1e-9 * rng.standard_normal((3, 10))),
    }


CASES = neighborhoods()


@pytest.fixture(params=CASES, ids=named)
def case(request):
    return CASES[request.param]


def size(x, N):
    return np.abs(N - x).max() + 1e-300


@pytest.mark.parametrize("penalty", PENALTIES)
def test_hyperplane_is_the_least_squares_one(case, penalty):
    x, N = case
    penalty = penalty * size(x, N) ** 2
    wanted = hyperplane_by_least_squares(x, N, penalty)
    found = hyperplane_distance(x, N, penalty)
    assert abs(found - wanted) <= 1e-8 * size(x, N)


def test_hull_is_the_programme(case):
    x, N = case
    assert abs(hull_distance(x, N) - hull_by_programme(x, N)) <= 1e-8 * size(x, N)


@pytest.mark.parametrize("name", ["random", "duplicates", "off a corner", "collinear"])
def test_hull_is_what_a_general_solver_finds(name):
    x, N = CASES[name]
    P = N - x
    start = np.full(len(P), 1 / len(P))
    sums_to_one = {"type": "eq", "fun": lambda b: b.sum() - 1, "jac": np.ones_like}
    found = minimize(
        lambda b: b @ P @ P.T @ b,
        start,
        jac=lambda b: 2 * P @ (P.T @ b),
        bounds=[(0, None)] * len(P),
        constraints=[sums_to_one],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert hull_distance(x, N) == pytest.approx(np.sqrt(found.fun), abs=1e-6)
    assert hull_distance(x, N) <= np.sqrt(found.fun) + 1e-9


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", sorted(set(CASES) - {"nearly equal"}))
def test_one_factor_gives_every_k(name, penalty):
    x, N = CASES[name]
    penalty = penalty * size(x, N) ** 2
    P = N - x
    found = np.sqrt(gram_path(P @ P.T, penalty))
    wanted = [hyperplane_distance(x, N[: k + 1], penalty) for k in range(len(N))]
    # The subtraction in the closed form costs half of the digits of small distances.
    np.testing.assert_allclose(found, wanted, atol=3e-5 * size(x, N))


@pytest.mark.parametrize("penalty", [1e3, 1e9, 1e16, 1e300])
def test_large_penalties_keep_their_digits(penalty, rng):
    for _ in range(20):
        P = rng.standard_normal((8, 12))
        found = np.sqrt(gram_path(P @ P.T, penalty))
        wanted = [
            hyperplane_distance(np.zeros(12), P[: k + 1], penalty) for k in range(8)
        ]
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_points_that_just_span_the_space(rng):
    """Five points of four dimensions: their plane is all there is."""
    for _ in range(200):
        P = rng.standard_normal((8, 4))
        assert np.all(gram_path(P @ P.T)[4:] == 0)


@pytest.mark.parametrize("penalty", [0.0, 1e-12, 0.1])
def test_nan_is_no_distance(penalty, rng):
    one = np.ones((1, 1))
    hoods = Neighborhoods(np.arange(3)[None, None], np.full((1, 1), 3), one, one)
    query = Query(
        rng.standard_normal((3, 5)), np.zeros((1, 5)), hoods, no_tangents(hoods, 5), 1
    )
    wanted = np.ones((1, 1), dtype=bool)
    assert Hyperplanes(penalty).distances(query, wanted)[0, 0] > 0
    query = replace(query, X=np.full((1, 5), np.nan))
    assert np.isnan(Hyperplanes(penalty).distances(query, wanted)[0, 0])


points = st.integers(-3, 3)


@given(st.data())
def test_both_on_points_of_a_grid(data):
    """Whole coordinates: every kind of coincidence and dependence comes up."""
    d = data.draw(st.integers(1, 4))
    K = data.draw(st.integers(1, 9))
    row = st.lists(points, min_size=d, max_size=d)
    N = np.array(data.draw(st.lists(row, min_size=K, max_size=K)), dtype=float)
    x = np.array(data.draw(row), dtype=float)
    assert abs(hull_distance(x, N) - hull_by_programme(x, N)) <= 1e-8
    for penalty in (0.0, 0.3):
        wanted = hyperplane_by_least_squares(x, N, penalty)
        assert abs(hyperplane_distance(x, N, penalty) - wanted) <= 1e-8


def test_limits(rng):
    N, x = rng.standard_normal((7, 5)), rng.standard_normal(5)
    mean = np.linalg.norm(x - N.mean(axis=0))
    assert hyperplane_distance(x, N, 1e12) == pytest.approx(mean)
    assert hyperplane_distance(x, N[:1]) == pytest.approx(np.linalg.norm(x - N[0]))
    assert hull_distance(x, N[:1]) == pytest.approx(np.linalg.norm(x - N[0]))


@pytest.mark.parametrize("n_components", [1, 3, 0.5, 0.99, 20])
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_leading_components(n_components, penalty, rng):
    N, x = rng.standard_normal((7, 12)) * np.arange(1, 13), rng.standard_normal(12)
    wanted = hyperplane_by_least_squares(x, N, penalty, n_components)
    found = hyperplane_distance(x, N, penalty, n_components)
    assert found == pytest.approx(wanted, abs=1e-8)


def test_tangents_are_further_directions(rng):
    N, x, T = (rng.standard_normal(s) for s in ((4, 9), 9, (2, 9)))
    for penalty in (0.0, 0.5):
        wanted = hyperplane_by_least_squares(x, N, penalty, tangents=T)
        assert hyperplane_distance(x, N, penalty, tangents=T) == pytest.approx(wanted)


def test_bad_shapes():
    with pytest.raises(ValueError, match=r"expected \(K, d\)"):
        hull_distance([0.0, 1.0], [[1.0]])
    with pytest.raises(ValueError, match=r"expected \(K, d\)"):
        hyperplane_distance([0.0], np.empty((0, 1)))
    with pytest.raises(ValueError, match="expected a square matrix"):
        gram_path(np.ones((2, 3)))


@pytest.mark.parametrize(
    "how, message",
    [
        ({"tangents": np.ones((1, 2))}, r"tangents has shape \(1, 2\): .*\(any, 3\)"),
        ({"tangents": np.ones((1, 9))}, "tangents has shape"),
        ({"tangents": np.ones((1, 1, 3))}, "tangents has shape"),
        ({"tangents": [[1.0, np.nan, 0.0]]}, "tangents holds NaN"),
        ({"penalty": -1.0}, "penalty=-1.0 must be a finite number of at least 0"),
        ({"penalty": np.nan}, "penalty=nan must be"),
        ({"penalty": True}, "penalty=True must be"),
        ({"penalty": "auto"}, "penalty='auto' must be"),
        ({"n_components": -1}, "n_components=-1 must be"),
        ({"x": [0.0, np.inf, 1.0]}, "x holds NaN or infinity"),
        ({"neighbors": [[0.0, np.nan, 1.0]]}, "neighbors holds NaN"),
    ],
    ids=named,
)
def test_bad_values(how, message):
    given = {"x": np.zeros(3), "neighbors": np.eye(3), **how}
    with pytest.raises(ValueError, match=message):
        hyperplane_distance(**given)


def test_bad_gram_matrices():
    with pytest.raises(ValueError, match="H holds NaN"):
        gram_path([[np.nan]])
    with pytest.raises(ValueError, match="penalty=-1 must be"):
        gram_path(np.eye(2), -1)
