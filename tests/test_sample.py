"""The training data of a fit, as one value."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse

from pursuit import KMPClassifier, dictionaries
from pursuit.sample import Sample


@pytest.fixture
def rows(rng):
    """Twelve points of which some come again, and some have no weight."""
    X = rng.standard_normal((12, 3))[[0, 1, 2, 1, 3, 4, 0, 5, 6, 7, 8, 9]]
    weight = np.array([1.0, 2, 1, 1, 1, 0, 1, 1, 0, 1, 3, 1])
    return X, rng.standard_normal((2, 12)), weight


def test_sets_are_those_of_equal_rows(rows):
    X, Y, weight = rows
    sample = Sample.of(X, Y, weight)
    assert len(sample) == 12
    np.testing.assert_array_equal(sample.sets < 0, weight == 0)
    for i in np.flatnonzero(weight):
        same = (X[i] == X).all(axis=1) & (weight > 0)
        np.testing.assert_array_equal(sample.sets == sample.sets[i], same)
    assert sample.n_distinct == len(sample.rows) == 8
    # Centers are one row of each set.
    np.testing.assert_array_equal(np.sort(sample.sets[sample.rows]), np.arange(8))
    assert sample.seen is weight
    assert sample.counts is weight


def test_priorities_go_with_the_content(rows, rng):
    X, Y, weight = rows
    sample = Sample.of(X, Y, weight, seed=1)
    used = weight > 0
    np.testing.assert_array_equal(sample.priority < 0, ~used)
    np.testing.assert_array_equal(np.unique(sample.priority[used]), np.arange(8))
    for a in np.flatnonzero(used):
        is_equal = sample.priority[used] == sample.priority[a]
        np.testing.assert_array_equal(is_equal, sample.sets[used] == sample.sets[a])
    order = rng.permutation(12)
    again = Sample.of(X[order], Y[:, order], weight[order], seed=1)
    np.testing.assert_array_equal(again.priority, sample.priority[order])
    other = Sample.of(X, Y, weight, seed=2)
    assert not np.array_equal(other.priority, sample.priority)


def test_all_rows_count_one_by_default(rows):
    X, Y, _ = rows
    sample = Sample.of(X, Y)
    np.testing.assert_array_equal(sample.weight, np.ones(12))
    assert sample.feature_names == ("x0", "x1", "x2")
    assert sample.fit_intercept
    assert sample.framer is None


def test_sparse_rows_are_the_same_rows(rows):
    X, Y, weight = rows
    dense, thin = (Sample.of(Z, Y, weight) for Z in (X, sparse.csr_array(X)))
    for name in ("sets", "priority", "rows"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(thin, name))


def test_rows_of_a_kernel_matrix_differ_by_their_index(rows):
    _, Y, weight = rows
    sample = Sample.of(np.ones((12, 12)), Y, weight, is_kernel=True)
    assert sample.contents is None
    assert sample.n_distinct == np.count_nonzero(weight)
    assert Sample.of(np.ones((12, 12)), Y, weight).n_distinct == 1


def test_labels_and_what_folds_are_balanced_in(rows):
    X, Y, weight = rows
    numbers = Sample.of(X, Y, weight)
    assert numbers.labels is None
    assert not numbers.is_class
    np.testing.assert_allclose(numbers.balance, Y.mean(axis=0))
    codes = np.arange(12) % 3
    names = np.array(["ash", "elm", "oak"])
    classes = Sample.of(X, Y, weight, classes=names, codes=codes)
    assert classes.is_class
    np.testing.assert_array_equal(classes.labels, names[codes])
    np.testing.assert_array_equal(classes.balance, codes)
    assert classes.balance.dtype == np.float64


@pytest.mark.parametrize(
    "weight, unit", [([1, 1, 1], 1.0), ([5, 9, 0], 1.0), ([0.2, 0.4, 0], 0.3)]
)
def test_the_weight_of_one_row(weight, unit):
    sample = Sample.of(np.eye(3), np.zeros((1, 3)), np.array(weight, float))
    assert sample.unit == pytest.approx(unit)


def test_weights_whose_products_underflow_are_told(rows):
    X, Y, _ = rows
    with pytest.raises(ValueError, match="sample_weight has values up to 1e-150 only"):
        Sample.of(X, Y, np.full(12, 1e-150))


def test_some_rows_keep_their_numbers(rows):
    X, Y, weight = rows
    counts, codes = weight + 1, np.arange(12) % 2
    sample = Sample.of(
        X,
        Y,
        weight,
        counts=counts,
        classes=np.array([False, True]),
        codes=codes,
        memory=7,
        seed=5,
    )
    chosen = np.array([1, 3, 4, 6, 8, 10])
    some = sample.some(chosen)
    assert len(some) == 6
    np.testing.assert_array_equal(some.X, X[chosen])
    np.testing.assert_array_equal(some.Y, Y[:, chosen])
    for name in ("weight", "counts", "codes", "sets", "priority", "seen", "labels"):
        expected = getattr(sample, name)[chosen]
        np.testing.assert_array_equal(getattr(some, name), expected)
    # Centers are numbered anew, and those on other rows are left out.
    kept = [row for row in sample.rows if row in chosen]
    np.testing.assert_array_equal(chosen[some.rows], kept)
    assert (some.memory, some.seed) == (7, 5)
    assert len(sample) == 12
    assert sample.some(np.arange(12)) is sample


def test_a_sample_is_a_value(rows):
    X, Y, weight = rows
    sample = Sample.of(X, Y, weight)
    with pytest.raises(FrozenInstanceError):
        sample.weight = np.ones(12)
    assert dictionaries.Sample is Sample


def test_weights_of_classes_are_no_counts(iris):
    """A dictionary that learns sees both."""
    X, y = iris
    seen = []

    class Learning(dictionaries.Features):
        def learn(self, sample):
            seen.append(sample)
            return super().learn(sample)

    how = {"alpha": 0.1, "selection": None, "max_support": 3}
    weight = np.arange(150) % 3
    model = KMPClassifier(dictionary=Learning(), class_weight={0: 5.0}, **how)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(seen[0].counts, weight)
    np.testing.assert_array_equal(seen[0].weight, weight * np.where(y == 0, 5, 1))
    np.testing.assert_array_equal(seen[0].labels, y)
    assert seen[0].Y.shape == (3, 150)
