"""Bad input: a clear error that names what is wrong, or a correct model."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import (
    AdaptiveGaussian,
    Features,
    ManyKernels,
    ManyWidths,
    OrientedGaussians,
    Precomputed,
)
from pursuit.kernels import Gaussian, Linear, Polynomial, Sigmoid
from pursuit.losses import Poisson
from pursuit.methods import BackFitting, Basic, PreFitting, Redrawn
from pursuit.selection import (
    CrossValidation,
    FixedSize,
    LeaveOneOut,
    MinimalBound,
    Validation,
)

ESTIMATORS = [KMPRegressor, KMPClassifier]
FAST = {
    "gamma": 0.5,
    "alpha": 1e-3,
    "max_support": 8,
    "selection": CrossValidation(3),
}
# The same for kernels that have their own width.
OWN = {name: value for name, value in FAST.items() if name != "gamma"}

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = {
    KMPRegressor: X[:, 0] + 0.1 * RNG.standard_normal(40),
    KMPClassifier: np.where(X[:, 0] > 0, "yes", "no"),
}
for array in (X, *Y.values()):
    array.setflags(write=False)

both = pytest.mark.parametrize("make", ESTIMATORS)
may_be_empty = pytest.mark.filterwarnings("ignore:The model has no support points")


# -- parameters --------------------------------------------------------------------

BAD = [
    ("kernel", "gauss"),
    ("kernel", 3),
    ("kernel", None),
    ("gamma", -1.0),
    ("gamma", 0.0),
    ("gamma", np.nan),
    ("gamma", np.inf),
    ("gamma", "wide"),
    ("gamma", None),
    ("gamma", [1.0]),
    ("gamma", True),
    ("max_support", 0),
    ("max_support", -3),
    ("max_support", 0.0),
    ("max_support", 1.5),
    ("max_support", np.nan),
    ("max_support", "many"),
    ("max_support", True),
    ("max_support", [3]),
    ("method", "fitting"),
    ("method", None),
    ("method", 3),
    ("method", PreFitting),
    ("method", CrossValidation()),
    ("selection", "aic"),
    ("selection", 3),
    ("selection", True),
    ("selection", CrossValidation),
    ("selection", PreFitting()),
    ("alpha", -1e-3),
    ("alpha", np.nan),
    ("alpha", np.inf),
    ("alpha", "big"),
    ("alpha", None),
    ("alpha", [0.1]),
    ("alpha", True),
    ("fit_intercept", "no"),
    ("fit_intercept", None),
    ("n_candidates", 0),
    ("n_candidates", -1),
    ("n_candidates", 0.0),
    ("n_candidates", 1.5),
    ("n_candidates", "some"),
    ("n_candidates", True),
    ("n_candidates", Redrawn),
    ("max_memory", 0),
    ("max_memory", -1),
    ("max_memory", "lots"),
    ("max_memory", "0 GiB"),
    ("max_memory", [1]),
    ("max_time", 0),
    ("max_time", "soon"),
    ("max_time", [1]),
    ("dtype", "float16"),
    ("dtype", "int64"),
    ("dtype", int),
    ("dtype", "real"),
    ("dtype", 3),
    ("random_state", "seed"),
    ("random_state", -1),
    ("random_state", 1.5),
    ("n_jobs", 0),
    ("n_jobs", "two"),
    ("n_jobs", 1.5),
    ("verbose", "loud"),
]

TOLERANT = (CrossValidation, Validation, LeaveOneOut)
PATIENT = (Validation, LeaveOneOut, MinimalBound)
FOLDED = (CrossValidation, LeaveOneOut, MinimalBound, FixedSize)
REFITTING = (PreFitting, BackFitting)

# Parameters of components, wrong values of them, and the components that have them.
BAD_OF_COMPONENTS = [
    ("tolerance", (-0.1, "2se", np.nan, None), TOLERANT),
    ("patience", (0, -1, 2.5, "long", True), PATIENT),
    ("n_folds", (1, 0, -2, 2.5, "five", True), FOLDED),
    ("fraction", (0.0, 1.0, -0.1, -1, 2, "half", None, np.nan, True), (Validation,)),
    ("kind", ("best", None, 3), (MinimalBound,)),
    ("alpha", (0, -1.0, "wide", np.nan, True), (MinimalBound,)),
    ("delta", (0, 1.0, "small", None, np.nan, True), (MinimalBound,)),
    ("refit_every", (0, -1, 1.5, "two", None, True), REFITTING),
    ("tol", (-1e-3, 1.0, 2.0, np.nan, "small", None), REFITTING),
    ("n", (0, -1, 0.0, 1.5, "some", None, True), (Redrawn,)),
]

BAD_COMPONENTS = [
    (component, name, value)
    for name, values, components in BAD_OF_COMPONENTS
    for component in components
    for value in values
]

# Where each kind of component is given.
PLACES = {PreFitting: "method", BackFitting: "method", Redrawn: "n_candidates"}


def with_component(make, component, **parameters):
    """Return a model with a component that has these parameters."""
    place = PLACES.get(component, "selection")
    # Folds that only compare widths are made only if there are some.
    how = {**FAST, "gamma": "cv"} if component in FOLDED else FAST
    return make(**{**how, place: component(**parameters)})


@both
@pytest.mark.parametrize(
    "name, value, choices",
    [
        ("gamma", "wide", ["number", "'cv'", "'median'", "'scale'", "'auto'"]),
        ("gamma", -1.0, ["number", "'cv'", "'median'", "'scale'", "'auto'"]),
        ("kernel", "rbv", ["'rbf'", "'poly'", "'precomputed'", "object", "function"]),
        ("alpha", "big", ["number", "'cv'"]),
        ("alpha", -1.0, ["number", "'cv'"]),
        ("selection", "aic", ["'cv'", "'validation'", "'loo'", "'bound'", "None"]),
        ("selection", 3, ["'cv'", "'bound'", "None", "CrossValidation(n_folds=5)"]),
        ("method", "all", ["'pre-fitting'", "'back-fitting'", "'basic'", "PreFit"]),
    ],
)
def test_errors_list_every_choice(make, name, value, choices):
    with pytest.raises(ValueError, match=f"{name}={value!r}") as error:
        make(**{**FAST, name: value}).fit(X, Y[make])
    for choice in choices:
        assert choice in str(error.value)


@both
@pytest.mark.parametrize("component", TOLERANT)
def test_errors_of_components_list_every_choice(make, component):
    with pytest.raises(ValueError, match=r"tolerance='2se'.*number.*'1se'"):
        with_component(make, component, tolerance="2se").fit(X, Y[make])


@both
def test_sparse_points_for_a_process_kernel(make):
    with pytest.raises(ValueError, match=r"RBF.*does not take sparse.*toarray"):
        make(**{**OWN, "kernel": RBF()}).fit(sparse.csr_array(X), Y[make])


@both
@pytest.mark.parametrize("name, value", BAD, ids=lambda v: repr(v))
def test_bad_parameters_are_named(make, name, value):
    model = make(**{**FAST, name: value})
    # scikit-learn's own words about a seed do not name the parameter.
    match = "random_state|[Ss]eed" if name == "random_state" else name
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, Y[make])


@both
@pytest.mark.parametrize("component, name, value", BAD_COMPONENTS, ids=named)
def test_bad_parameters_of_components_are_named(make, component, name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        with_component(make, component, **{name: value}).fit(X, Y[make])


@both
@pytest.mark.parametrize(
    "component, name",
    [
        (component, name)
        for component in (*FOLDED, Validation, *REFITTING, Redrawn)
        for name in component().get_params()
    ],
    ids=named,
)
@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(["cv", "loo"]), [1.0, 2.0]], ids=named
)
def test_arrays_are_no_values_of_components(make, component, name, value):
    with pytest.raises(ValueError, match=f"{name}=") as error:
        with_component(make, component, **{name: value}).fit(X, Y[make])
    assert "ambiguous" not in str(error.value)


# scikit-learn's own words about seeds do not name the parameter.
WORDED_BY_OTHERS = ("random_state",)


@both
@pytest.mark.parametrize("name", sorted(KMPClassifier(kernel="rbf").get_params()))
@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(["cv", "loo"]), [1.0, 2.0]], ids=named
)
def test_arrays_are_no_values_of_parameters(make, name, value):
    if name not in make().get_params() or name in WORDED_BY_OTHERS:
        pytest.skip("not a parameter of ours")
    with pytest.raises((ValueError, TypeError), match=name) as error:
        make(**{**FAST, name: value}).fit(X, Y[make])
    assert "ambiguous" not in str(error.value)


@both
@pytest.mark.parametrize(
    "kernel, name, value",
    [
        (Polynomial, "degree", -1),
        (Polynomial, "degree", 0),
        (Polynomial, "degree", 2.5),
        (Polynomial, "degree", "three"),
        (Polynomial, "degree", np.nan),
        (Polynomial, "degree", None),
        (Polynomial, "coef0", "one"),
        (Polynomial, "coef0", np.inf),
        (Polynomial, "coef0", np.nan),
        (Polynomial, "gamma", -1.0),
        (Polynomial, "gamma", "wide"),
        (Sigmoid, "coef0", None),
        (Sigmoid, "gamma", None),
    ],
)
@pytest.mark.parametrize("gamma", [{}, {"gamma": "cv"}], ids=named)
def test_bad_parameters_of_kernels_are_named(make, kernel, name, value, gamma):
    with pytest.raises((ValueError, TypeError), match=f"{name}={value!r}"):
        make(kernel(**{**gamma, name: value}), **FAST).fit(X, Y[make])


@pytest.mark.parametrize("value", ["one", None, 3])
def test_bad_multiclass_is_named(value):
    with pytest.raises(ValueError, match="multiclass"):
        KMPClassifier(kernel="rbf", multiclass=value).fit(X, Y[KMPClassifier])


@pytest.mark.parametrize(
    "value, told",
    [
        ("even", "dict from class to weight"),
        (3, "dict from class to weight"),
        ([1, 2], "dict from class to weight"),
        ({"no": -1, "yes": 1}, "'no' the weight -1"),
        ({"no": 1, "yes": -0.5}, "'yes' the weight -0.5"),
        ({"no": 1, "yes": np.nan}, "'yes' the weight nan"),
        ({"no": np.inf}, "'no' the weight inf"),
        ({"no": 1.0, "yes": "x"}, "'yes' the weight 'x'"),
        ({"maybe": 1.0, "yes": 2.0}, "'maybe', which is not a class"),
        ({"no": 0.0}, "one class"),
    ],
)
def test_bad_class_weight_is_named(value, told):
    with pytest.raises(ValueError, match="class_weight") as error:
        KMPClassifier(class_weight=value, **FAST).fit(X, Y[KMPClassifier])
    assert told in str(error.value)
    assert "compute_" not in str(error.value)


def test_class_weight_may_mention_a_class_that_is_not_there():
    """Folds of a grid search may lack a class."""
    weight = {"no": 2.0, "yes": 1.0, "maybe": 3.0}
    model = KMPClassifier(class_weight=weight, **FAST).fit(X, Y[KMPClassifier])
    assert set(model.predict(X)) == {"no", "yes"}


ROWS = np.arange(40)


@both
@pytest.mark.parametrize(
    "folds, told",
    [
        ([], "no split"),
        ({}, "no split"),
        (iter([]), "iterator is spent"),
        ([(ROWS[:0], ROWS)], "training side is empty"),
        ([(ROWS, ROWS[:0])], "test side is empty"),
        ([(ROWS[:30], ROWS[30:]), ([], ROWS)], "training side is empty"),
        ([(ROWS, ROWS)], "training side is empty"),
        ([1, 2], "but holds 1"),
        ([(ROWS, ROWS, ROWS)], "(train, test)"),
        ([(ROWS[:30], [40])], "0 to 39"),
        ([(ROWS[:30], ["a"])], "0 to 39"),
        ([(ROWS[:30], [0.5])], "0 to 39"),
        ([(3, ROWS[5:])], "0 to 39"),
        ([(ROWS[:39] < 20, ROWS[20:])], "mask of 40"),
        (GroupKFold(3), "fit(X, y, groups=...)"),
        (LeaveOneGroupOut(), "list(splitter.split(X, y, groups))"),
    ],
    ids=named,
)
def test_unusable_splits_are_told(make, folds, told):
    with pytest.raises(ValueError, match="n_folds=") as error:
        make(**{**FAST, "selection": CrossValidation(folds)}).fit(X, Y[make])
    assert told in str(error.value)
    assert len(str(error.value)) < 400


@both
def test_splits_that_hold_out_no_weight(make):
    """Rows of weight 0 are no rows: a split without others is none."""
    weight, empty = np.ones(40), (ROWS[5:], ROWS[:5])
    weight[:5] = 0.0
    with pytest.raises(ValueError, match="n_folds=.*positive weight"):
        make(**{**FAST, "selection": CrossValidation([empty])}).fit(X, Y[make], weight)
    models = [
        make(**{**FAST, "selection": CrossValidation(folds)}).fit(X, Y[make], weight)
        for folds in ([(ROWS[15:], ROWS[:15])], [(ROWS[15:], ROWS[:15]), empty])
    ]
    assert models[0].search_[0]["errors"].tolist() == (
        models[1].search_[0]["errors"].tolist()
    )


@both
@pytest.mark.parametrize(
    "selection, told",
    [
        ("cv", "n_folds='auto'"),
        (CrossValidation(3), "n_folds=3"),
        (CrossValidation([(ROWS[:30], ROWS[30:])]), "n_folds="),
        (FixedSize(3), "n_folds=3"),
        ("bound", "n_folds='auto'"),
        ("validation", "selection='validation'"),
        (Validation(0.3), "selection='validation'"),
        ("loo", "selection='loo'"),
        (LeaveOneOut(n_folds=GroupKFold(3)), "selection='loo'"),
    ],
    ids=named,
)
def test_groups_that_nothing_looks_at(make, selection, told):
    with pytest.raises(ValueError, match="groups.*CrossValidation.GroupKFold") as error:
        make(**{**FAST, "selection": selection}).fit(X, Y[make], groups=ROWS % 4)
    assert told in str(error.value)


def test_leave_one_out_needs_least_squares():
    for method in ("basic", Basic()):
        model = KMPRegressor(**{**FAST, "method": method, "selection": "loo"})
        with pytest.raises(ValueError, match="selection='loo'.*method='basic'"):
            model.fit(X, Y[KMPRegressor])
    for method in (PreFitting(2), BackFitting(3)):
        model = KMPRegressor(**{**FAST, "method": method, "selection": LeaveOneOut()})
        with pytest.raises(ValueError, match="selection='loo'.*refit_every=1"):
            model.fit(X, Y[KMPRegressor])


@both
def test_bad_parameters_leave_no_half_fitted_model(make):
    model = make(method="fitting")
    with pytest.raises(ValueError, match="method"):
        model.fit(X, Y[make])
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- data --------------------------------------------------------------------------


@both
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(make, value):
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        make(**FAST).fit(bad, Y[make])
    model = make(**FAST).fit(X, Y[make])
    with pytest.raises(ValueError, match="NaN|infinity"):
        model.predict(bad)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_bad_values_are_told_with_their_columns_and_rows(form):
    table = {"age": [20.0, np.nan, np.nan], "size": [1.0, 2.0, 3.0]}
    for name, value, words in (
        ("size", np.inf, r"infinity.*column 'size' \(row 2\)"),
        ("age", 1.0, r"NaN: column 'age' \(row 2\)\. Fill.*SimpleImputer"),
        (None, None, r"NaN: column 'age' \(row 1 and 1 more\)"),
    ):
        columns = {key: list(values) for key, values in table.items()}
        if name == "size":
            columns["age"] = [1.0, 2.0, 3.0]
            columns[name][2] = value
        elif name == "age":
            columns[name][1] = value
        with pytest.raises(ValueError, match=words):
            KMPRegressor(**FAST).fit(form(columns), [1.0, 2.0, 3.0])
    words = r"words.*column 'kind' \(row 1: 'car'\).*OneHotEncoder"
    mixed = form({"size": [1.0, 2.0, 3.0], "kind": ["1", "car", "bus"]})
    with pytest.raises(ValueError, match=words):
        KMPRegressor(**FAST).fit(mixed, [1.0, 2.0, 3.0])


def test_sparse_values_are_told_with_their_columns_too():
    bad = sparse.csr_array(X.copy())
    bad.data[4] = np.nan
    row, column = (places[4] for places in bad.nonzero())
    with pytest.raises(ValueError, match=rf"NaN: column {column} \(row {row}\)"):
        KMPRegressor(**FAST).fit(bad, Y[KMPRegressor])


@both
@pytest.mark.parametrize("kernel", [Gaussian(), rbf_kernel, RBF()], ids=named)
def test_a_width_beside_a_kernel_that_has_its_own_is_refused(make, kernel):
    with pytest.raises(ValueError, match=r"gamma=0\.5.*its own parameters.*Gaussian"):
        make(kernel, **FAST).fit(X, Y[make])


@pytest.mark.parametrize(
    "wrong, right",
    [
        ({"kernel": "rfb"}, "rbf"),
        ({"loss": "logistik"}, "logistic"),
        ({"selection": "CV"}, "cv"),
        ({"method": "prefitting"}, "pre-fitting"),
        ({"metric": "diag"}, "diagonal"),
        ({"multiclass": "ovo"}, "ovr"),
        ({"selection": MinimalBound("mld")}, "mdl"),
    ],
    ids=named,
)
def test_a_misspelt_word_is_recognized(wrong, right):
    with pytest.raises(ValueError, match=f"Did you mean '{right}'"):
        KMPClassifier(**{**OWN, **wrong}).fit(X, Y[KMPClassifier])


@both
def test_words_of_svc_are_told_what_to_use(make):
    for words in ({"C": 1.0}, {"probability": True, "C": 2}, {"nu": 0.1}):
        with pytest.raises(TypeError, match=r"has no parameter.*Moving from SVC"):
            make(**words)
    with pytest.raises(ValueError, match=r"'cache_size': max_memory.*Moving from SVC"):
        make().set_params(cache_size=200)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_not_finite(value):
    y = Y[KMPRegressor].copy()
    y[0] = value
    with pytest.raises(ValueError, match="NaN|infinity"):
        KMPRegressor(**FAST).fit(X, y)


@both
@pytest.mark.parametrize(
    "bad, message",
    [
        (X[:, 0], "2D array"),
        (X[None], "dim 3"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[:39], "inconsistent numbers of samples"),
        ([["a", "b"]] * 40, r"words.*column 0 \(row 0: 'a'\).*OneHotEncoder"),
        (np.array([[object()]] * 40), "argument must be|convert"),
        (X + 1j, "Complex"),
    ],
    ids=["1-d", "3-d", "no rows", "no columns", "other length", "text", "object", "i"],
)
def test_bad_points(make, bad, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**FAST).fit(bad, Y[make])


@both
def test_bad_targets(make):
    with pytest.raises(ValueError, match="requires y to be passed|y cannot be None"):
        make(**FAST).fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(**FAST).fit(X, Y[make][:39])


@pytest.mark.parametrize("loss", ["poisson", Poisson()])
@pytest.mark.parametrize("form", [np.array, list, pd.DataFrame])
def test_poisson_takes_one_target(loss, form):
    y = form(np.abs(X[:, :2]))
    with pytest.raises(ValueError, match="loss=.*one target, y has 2"):
        KMPRegressor(loss=loss, **FAST).fit(X, y)


def test_targets_that_are_no_classes():
    with pytest.raises(ValueError, match="Unknown label type|continuous"):
        KMPClassifier(**FAST).fit(X, Y[KMPRegressor])


def test_one_class():
    with pytest.raises(ValueError, match="one class"):
        KMPClassifier(**FAST).fit(X, np.zeros(40))


@pytest.mark.parametrize("label", ["yes", "no"])
def test_one_class_of_positive_weight(label):
    """Rows of weight 0 are no rows: one class is left."""
    y = Y[KMPClassifier]
    with pytest.raises(ValueError, match="one class"):
        KMPClassifier(**FAST).fit(X, y, sample_weight=(y == label).astype(float))


@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
def test_one_sample(selection):
    """The constant is all there is."""
    how = {**FAST, "selection": selection}
    model = KMPRegressor(**how).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(model.predict([[0.0, 0.0], [1.0, 2.0]]), 3.0)
    with pytest.raises(ValueError, match="class"):
        KMPClassifier(**how).fit([[1.0, 2.0]], ["yes"])


@may_be_empty
@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_samples(selection, n):
    how = {**FAST, "selection": selection}
    model = KMPRegressor(**how).fit(X[:n], Y[KMPRegressor][:n])
    assert np.all(np.isfinite(model.predict(X)))
    labels = np.array(["yes", "no"])[np.arange(n) % 2]
    assert KMPClassifier(**how).fit(X[:n], labels).predict(X).shape == (40,)


@may_be_empty
def test_few_samples_by_default():
    for n in (1, 2, 3):
        model = KMPRegressor(kernel="rbf").fit(X[:n], Y[KMPRegressor][:n])
        assert np.all(np.isfinite(model.predict(X)))
    assert KMPClassifier(kernel="rbf").fit(X[:2], ["yes", "no"]).predict(X).shape == (
        40,
    )


@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
@pytest.mark.parametrize("value", [0.0, 3.7, 1e-300, 1e60])
def test_a_constant_target(selection, value):
    model = KMPRegressor(**{**FAST, "selection": selection}).fit(X, np.full(40, value))
    assert model.n_support_ == 0
    assert model.dual_coef_.shape == (1, 0)
    assert model.support_vectors_.shape == (0, 3)
    np.testing.assert_allclose(model.predict(X), value)
    assert model.stop_reason_.startswith("exact")
    assert list(model.staged_predict(X)) == []


@both
@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_all_rows_equal(make, selection, alpha):
    """Nothing tells the points apart: the weighted mean is the answer."""
    how = {**FAST, "selection": selection, "alpha": alpha}
    same = np.tile(X[:1], (40, 1))
    model = make(**how).fit(same, Y[make])
    if make is KMPRegressor:
        np.testing.assert_allclose(model.predict(same), Y[make].mean(), rtol=1e-6)
    else:
        common = max(["yes", "no"], key=lambda c: np.sum(Y[make] == c))
        assert set(model.predict(same)) == {common}
    assert model.n_support_ <= 1


@both
def test_all_rows_equal_by_default(make):
    model = make().fit(np.tile(X[:1], (40, 1)), Y[make])
    assert len(set(model.predict(X[:1].repeat(3, axis=0)))) == 1


@both
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_a_kernel_of_zeros(make, method):
    how = {**OWN, "alpha": 0.0, "method": method, "selection": None}
    model = make(lambda A, B: np.zeros((len(A), len(B))), **how).fit(X, Y[make])
    assert model.n_support_ == 0
    assert model.stop_reason_.startswith("exhausted")
    assert len(set(model.predict(X))) == 1


def test_some_kernel_columns_of_zeros():
    def kernel(A, B):
        return rbf_kernel(A, B, gamma=0.5) * (B[:, 0] > 0)

    model = KMPRegressor(kernel, **{**OWN, "max_support": 40}).fit(X, Y[KMPRegressor])
    assert np.all(X[model.support_, 0] > 0)
    assert np.all(np.isfinite(model.predict(X)))


@both
@pytest.mark.parametrize("max_support", [41, 10**9, 1.0])
def test_more_support_than_there_is(make, max_support):
    how = {**FAST, "selection": None, "max_support": max_support}
    model = make(**how).fit(X, Y[make])
    assert model.n_support_ <= 40
    assert np.all(np.isfinite(model.dual_coef_))


def test_targets_of_any_scale():
    y = Y[KMPRegressor]
    wanted = KMPRegressor(**FAST).fit(X, y)
    for factor in (1e-60, 1e-9, 1e9, 1e60):
        model = KMPRegressor(**FAST).fit(X, factor * y)
        np.testing.assert_array_equal(model.support_, wanted.support_)
        np.testing.assert_allclose(model.predict(X), factor * wanted.predict(X))


FACTORS_OF_TARGETS = [1e-300, 1e-170, 1e-142, 1e153, 1e200, 1e307]


@pytest.mark.parametrize("factor", FACTORS_OF_TARGETS)
@pytest.mark.parametrize("selection", ["cv", "loo", "validation", "bound", None])
def test_targets_that_cannot_be_squared_are_told(factor, selection):
    y = factor * Y[KMPRegressor]
    told = "overflow.*scale it down" if factor > 1 else "underflow.*scale it up"
    with pytest.raises(ValueError, match=f"y (holds|varies).*{told}"):
        KMPRegressor(**{**FAST, "selection": selection}).fit(X, y)
    two = np.column_stack([y, y])
    if selection != "bound":
        with pytest.raises(ValueError, match=f"y (holds|varies).*{told}"):
            KMPRegressor(**{**FAST, "selection": selection}).fit(X, two)


@pytest.mark.parametrize("factor", [1e-140, 1e-120, 1e120, 1e150])
@pytest.mark.parametrize("selection", ["cv", "loo", "validation", None])
def test_targets_that_can_be_squared_are_fitted(factor, selection):
    y, how = Y[KMPRegressor], {**FAST, "selection": selection}
    wanted = KMPRegressor(**how).fit(X, y)
    model = KMPRegressor(**how).fit(X, factor * y)
    np.testing.assert_array_equal(model.support_, wanted.support_)
    np.testing.assert_allclose(model.predict(X), factor * wanted.predict(X))


def test_rows_of_no_weight_may_have_any_target():
    y, weight = Y[KMPRegressor].copy(), np.r_[np.zeros(3), np.ones(37)]
    wanted = KMPRegressor(**FAST).fit(X[3:], y[3:]).predict(X)
    y[:3] = 1e150
    y[:3] *= 1e10
    found = KMPRegressor(**FAST).fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_allclose(found, wanted)


BY_SQUARES = [
    {"kernel": "rbf", "gamma": "cv"},
    {"gamma": "median"},
    {"gamma": "scale"},
    {"kernel": "linear"},
    {"kernel": "poly", "gamma": "scale"},
    {"kernel": Gaussian("median")},
    {"kernel": Gaussian("median") + Linear()},
    {"dictionary": ManyWidths()},
    {"dictionary": ManyKernels(["rbf"])},
    {"dictionary": AdaptiveGaussian()},
    {"dictionary": OrientedGaussians()},
]


@both
@pytest.mark.parametrize("how", BY_SQUARES, ids=named)
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_points_that_cannot_be_squared_are_told(make, how, form):
    fast = {"alpha": 1e-3, "max_support": 8, "selection": CrossValidation(3)}
    model = make(**fast, **how)
    if form is not np.array and not model.__sklearn_tags__().input_tags.sparse:
        pytest.skip("takes no sparse points")
    for factor, told in ((1e200, "overflow.*down"), (1e-200, "underflow.*up")):
        with pytest.raises(ValueError, match=f"X (holds|varies).*{told}"):
            model.fit(form(factor * X), Y[make])


@both
@pytest.mark.parametrize(
    "how",
    [
        {"kernel": "laplacian", "gamma": "median"},
        {"kernel": lambda A, B: np.sign(A) @ np.sign(B).T},
    ],
    ids=named,
)
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_kernels_that_do_not_square_take_any_scale(make, how, factor):
    how = {**OWN, "selection": None, **how}
    wanted = make(**how).fit(X, Y[make]).predict(X)
    found = make(**how).fit(factor * X, Y[make]).predict(factor * X)
    if make is KMPRegressor:
        np.testing.assert_allclose(found, wanted)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("how", [{}, {"alpha": 0.0, "selection": None}])
@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e200])
def test_given_matrices_of_extreme_scale_are_told(factor, how):
    K = factor * rbf_kernel(X)
    with pytest.raises(ValueError, match="to be squared.*scale"):
        KMPRegressor("precomputed", **how).fit(K, X[:, 0])


@pytest.mark.parametrize("factor", [2.0**-400, 2.0**400, 2.0**500])
@pytest.mark.parametrize("gamma", ["median", "scale"])
def test_widths_follow_points_of_any_scale_that_can_be_squared(gamma, factor):
    y, how = Y[KMPRegressor], {**FAST, "selection": None, "gamma": gamma}
    wanted = KMPRegressor(**how).fit(X, y)
    model = KMPRegressor(**how).fit(factor * X, y)
    np.testing.assert_array_equal(model.support_, wanted.support_)
    np.testing.assert_allclose(model.predict(factor * X), wanted.predict(X))


@both
@pytest.mark.parametrize(
    "how, factor",
    [
        ({"kernel": "linear"}, 1e-100),
        ({"kernel": lambda A, B: 1e-180 * (A @ B.T)}, 1.0),
        ({"kernel": "linear"}, 1e100),
        ({"dictionary": Features()}, 1e-200),
        ({"dictionary": Features()}, 1e200),
        ({"dictionary": Precomputed()}, 1e-200),
        ({"dictionary": Precomputed()}, 1e200),
    ],
    ids=named,
)
@pytest.mark.parametrize("selection", [CrossValidation(3), FixedSize(3)], ids=named)
def test_functions_that_cannot_be_squared_are_told(make, how, factor, selection):
    model = make(alpha="cv", max_support=8, selection=selection, **how)
    with pytest.raises(ValueError, match=r"functions.*scale the\s+features"):
        model.fit(factor * X, Y[make])
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- nothing chosen ----------------------------------------------------------------


def test_a_feature_that_rules_the_distances_is_told():
    wide = X * np.array([1.0] * (X.shape[1] - 1) + [1e10])
    y = np.random.default_rng(0).standard_normal(len(X))
    for some in (wide, wide[:, -2:]):
        with pytest.warns(UserWarning, match="no support.*hardly.*StandardScaler"):
            model = KMPRegressor(kernel="rbf").fit(some, y)
        assert model.n_support_ == 0


@both
def test_weights_too_small_for_sums_are_told(make):
    with pytest.raises(ValueError, match="sample_weight has values up to 1e-200 only"):
        make(**FAST).fit(X, Y[make], np.full(len(X), 1e-200))


@both
@pytest.mark.parametrize(
    "how",
    [
        {"gamma": 1e6},
        {"gamma": 1e6, "method": "back-fitting", "alpha": 0.0},
        {"kernel": Polynomial(50, "scale"), "max_support": 1},
        {"kernel": Polynomial(50, "cv"), "alpha": "cv"},
    ],
    ids=named,
)
def test_functions_that_say_nothing_of_new_rows_are_warned_of(make, how):
    with pytest.warns(UserWarning, match="no support points.*smaller gamma or degree"):
        model = make(**{**(OWN if "kernel" in how else FAST), **how}).fit(X, Y[make])
    assert model.n_support_ == 0
    assert len(model.path_) > 0
    assert model.stop_reason_.startswith("empty: without any point")


@both
def test_an_empty_model_is_never_silent(make):
    noise = np.random.default_rng(1).permutation(Y[make])
    n_empty = 0
    for selection in ("cv", "validation", "loo"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model = make(**{**FAST, "selection": selection}).fit(X, noise)
        is_empty = model.n_support_ == 0
        assert model.stop_reason_.startswith("empty") == is_empty
        told = [str(warning.message) for warning in seen]
        assert any("say nothing of the target" in text for text in told) == is_empty
        n_empty += is_empty
    assert n_empty


def test_a_constant_target_is_no_reason_to_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KMPRegressor(**FAST).fit(X, np.ones(40))
    assert model.n_support_ == 0
    assert np.allclose(model.predict(X), 1.0)


@both
@pytest.mark.parametrize("scale", [300.0, 1e4, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_features_that_drown_others_are_told(make, kernel, scale):
    wide = pd.DataFrame(X, columns=["a", "b", "noise"])
    wide["noise"] *= scale
    words = r"hardly depend on the features 'a', 'b': feature 'noise'.*StandardScaler"
    how = {**OWN, "max_support": 3}
    with pytest.warns(UserWarning, match=words):
        make(kernel, **how).fit(wide, Y[make])
    # A learned kernel has scales of its own, and flags of rare events are no others.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(max_support=3, alpha=1e-3).fit(wide, Y[make])
        wide["noise"] /= scale * 1000
        make(kernel, **how).fit(wide, Y[make])


# -- parameters that change after the fit ---------------------------------------------


def test_probabilities_need_the_loss_at_the_fit():
    model = KMPClassifier(**FAST).fit(X, Y[KMPClassifier])
    labels = model.predict(X)
    model.set_params(loss="logistic")
    np.testing.assert_array_equal(model.predict(X), labels)
    for name in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
        with pytest.raises(NotFittedError, match=r"fitted with.*Squared.*fit it again"):
            list(getattr(model, name)(X))
    assert model.fit(X, Y[KMPClassifier]).predict_proba(X).shape == (40, 2)
    labels = model.predict(X)
    np.testing.assert_array_equal(model.set_params(loss="squared").predict(X), labels)


# -- kernels -----------------------------------------------------------------------


def holes(A, B):
    return np.full((len(A), len(B)), np.nan)


def infinite(A, B):
    return np.full((len(A), len(B)), np.inf)


def too_narrow(A, B):
    return np.ones((len(A), len(B) - 1))


def flat(A, B):
    return np.ones(len(A))


def texts(A, B):
    return np.full((len(A), len(B)), "k")


def nothing(A, B):
    return None


@both
@pytest.mark.parametrize(
    "kernel, message",
    [
        (holes, "holes.*NaN"),
        (infinite, "infinite.*inf"),
        (too_narrow, "too_narrow.*shape"),
        (flat, "flat.*shape"),
        (texts, "texts|could not convert"),
        (nothing, "nothing.*|shape"),
    ],
)
def test_kernels_that_return_nonsense(make, kernel, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(kernel, **OWN).fit(X, Y[make])


@both
def test_kernels_that_raise(make):
    def broken(A, B):
        raise ZeroDivisionError("inside the kernel")

    with pytest.raises(ZeroDivisionError, match="inside the kernel"):
        make(broken, **OWN).fit(X, Y[make])


@both
def test_kernels_with_the_wrong_arguments(make):
    with pytest.raises(TypeError, match="argument"):
        make(lambda A: A, **OWN).fit(X, Y[make])


@both
def test_precomputed_says_which_widths_it_takes(make):
    model = make("precomputed", **FAST).fit(X @ X.T, Y[make])
    words = f"{len(X)} training points, or with the {model.n_support_} of support_"
    with pytest.raises(ValueError, match=words):
        model.predict(np.ones((2, len(X) + 1)))
    with pytest.raises(ValueError, match="NaN") as caught:
        model.predict(np.full((2, len(X)), np.nan))
    assert "support_" not in str(caught.value)


@both
def test_precomputed_must_be_square(make):
    with pytest.raises(ValueError, match="precomputed.*square"):
        make("precomputed", **FAST).fit(X, Y[make])


@both
def test_precomputed_must_not_be_sparse(make):
    K = sparse.csr_array(rbf_kernel(X))
    with pytest.raises(TypeError, match="[Ss]parse"):
        make("precomputed", **FAST).fit(K, Y[make])


@both
def test_precomputed_with_other_columns(make):
    K = rbf_kernel(X, gamma=0.5)
    model = make("precomputed", **{**FAST, "selection": None}).fit(K, Y[make])
    with pytest.raises(ValueError, match="feature|column"):
        model.predict(K[:, :20])
    with pytest.raises(ValueError, match="all training points"):
        list(model.staged_predict(K[:, model.support_]))


# -- weights -----------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "weight, message",
    [
        (-np.ones(40), "sample_weight.*negative"),
        (np.r_[np.ones(39), -1e-9], "sample_weight.*negative"),
        (np.zeros(40), "sample_weight.*zero"),
        (0.0, "sample_weight.*zero"),
        (np.r_[np.ones(39), np.nan], "sample_weight.*NaN"),
        (np.r_[np.ones(39), np.inf], "sample_weight.*infinity"),
        (np.ones(39), "sample_weight.shape"),
        (np.ones((40, 1)), "sample_weight"),
        (["heavy"] * 40, "^sample_weight holds values that are not numbers: could"),
        (np.ones(40) + 1j, "^sample_weight holds values that are not numbers: Compl"),
        (np.ma.masked_array(np.ones(40), np.eye(40)[0]), "sample_weight is a masked"),
        (
            np.full(40, 1e308),
            "^sample_weight has values up to 1e.308, whose sum cannot",
        ),
    ],
)
def test_bad_weights(make, weight, message):
    with pytest.raises(ValueError, match=message):
        make(**FAST).fit(X, Y[make], sample_weight=weight)


@both
def test_one_row_of_positive_weight(make):
    weight = np.zeros(40)
    weight[7] = 2.0
    if make is KMPClassifier:
        with pytest.raises(ValueError, match="one class"):
            make(**FAST).fit(X, Y[make], sample_weight=weight)
        return
    model = make(**FAST).fit(X, Y[make], sample_weight=weight)
    assert len(set(model.predict(X))) == 1
    np.testing.assert_allclose(model.predict(X), np.full(40, Y[make][7]))


def test_weights_of_any_scale():
    """Without a ridge only their ratios count."""
    how = {**FAST, "alpha": 0.0, "max_support": 5, "selection": None}
    weight = RNG.uniform(0.5, 2, 40)
    wanted = KMPRegressor(**how).fit(X, Y[KMPRegressor], sample_weight=weight)
    for factor in (1e-100, 1e-9, 1e9, 1e100):
        model = KMPRegressor(**how).fit(
            X, Y[KMPRegressor], sample_weight=factor * weight
        )
        np.testing.assert_array_equal(model.support_, wanted.support_)
        np.testing.assert_allclose(model.predict(X), wanted.predict(X), rtol=1e-6)


# -- prediction --------------------------------------------------------------------


@both
def test_before_fitting(make):
    model = make()
    asked = ["predict", "staged_predict", "truncate", "score", "decision_function"]
    for name in asked:
        if not hasattr(model, name):
            continue
        arguments = {"truncate": (3,), "score": (X, Y[make])}.get(name, (X,))
        with pytest.raises(NotFittedError):
            list(getattr(model, name)(*arguments))


@both
def test_another_number_of_features(make):
    model = make(**FAST).fit(X, Y[make])
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="features"):
        list(model.staged_predict(X[:, :2]))


@both
def test_no_rows_to_predict(make):
    model = make(**FAST).fit(X, Y[make])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
