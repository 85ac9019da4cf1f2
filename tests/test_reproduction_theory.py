"""The experiments of the theory of matching pursuit."""

import numpy as np
import pytest

from pursuit import datasets
from pursuit.kernels import Linear
from reproduction.experiments import matching_theory as theory


def test_random_points_capture_what_their_span_holds():
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal((30, 4)), rng.standard_normal((10, 4))
    whole = theory._random_residual(Linear(), X, X_new, 4, 0)
    assert abs(whole) < 1e-9
    basis = X[np.random.default_rng(1).permutation(30)[:2]]
    left = X_new - X_new @ np.linalg.pinv(basis) @ basis
    expected = np.mean(np.square(left).sum(axis=1))
    found = theory._random_residual(Linear(), X, X_new, 2, 1)
    np.testing.assert_allclose(found, expected)


def made_up(n):
    curve = np.concatenate([np.linspace(1, 0.5, 43), np.linspace(0.5, 1, 77)])
    return {
        f"{name}/{i}": {
            "test": (0.5 * curve).tolist(),
            "compression": curve.tolist(),
            "eigenvalues": (2 + 0.01 * np.arange(120)).tolist(),
            "at random": 0.4,
        }
        for name in ("boston", "toy")
        for i in range(n)
    }


def test_figure_1_reports_where_the_bounds_are_lowest():
    rows = {row.label: row for row in theory._figure_1_report(made_up(3)).rows}
    assert rows["Boston, bound by compression"].ours == 43
    assert not rows["Boston, bound by compression"].differs
    toy = rows["Toy, 50 strong dimensions, bound by eigenvalues"]
    assert (toy.ours, toy.published) == (1, 30)
    assert toy.differs
    assert rows["Boston, points at random"].size == 43
    assert theory._figure_1_report({}).rows == []


def test_notes_count_what_was_run():
    """Those of a quick version too."""
    (note,) = theory._figure_1_report(made_up(3)).notes
    assert "in 3 random orders" in note
    assert "Toy: 3 draws" in note
    found = {"test": [3.0, 2.0, 1.0], "bound": [2.0, 0.9, 1.5]}
    report = theory._figure_2_report({"width 4/0": found, "width 4/1": found})
    assert "in 2 random orders" in report.notes[0]


def test_figure_2_says_what_is_vacuous():
    found = {"test": [3.0, 2.0, 1.0], "bound": [2.0, 0.9, 1.5]}
    report = theory._figure_2_report({"width 4/0": found, "width 4/1": found})
    assert [row.ours for row in report.rows] == [2, 3]
    assert report.notes[-1].endswith("0 of 2 are vacuous (1 or more).")


@pytest.mark.slow
def test_published_minima():
    if "boston" not in datasets.available():
        pytest.skip("the data set boston is not here")
    found = [theory.boston_residuals(order, theory.WIDTH) for order in range(5)]
    assert abs(np.mean([np.argmin(r["compression"]) + 1 for r in found]) - 43) < 5
    toy = theory.toy_residuals(0, theory.STRENGTH)
    assert abs(np.argmin(toy["compression"]) + 1 - 46) <= 4
    assert abs(np.argmin(toy["eigenvalues"]) + 1 - 30) <= 8
