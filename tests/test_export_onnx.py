"""ONNX graphs agree with the models that they were written from."""

import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from pursuit import (
    FixedSize,
    HKNNClassifier,
    KMPClassifier,
    KMPRegressor,
    LearnedMetric,
    ParzenWindows,
    SparseKernelCCA,
    SparseKernelPCA,
    dictionaries,
    kernels,
)
from pursuit.export import UnsupportedError, check_onnx, onnx_inputs, to_onnx
from pursuit.export.onnx.extra import needed
from pursuit.kernels import Polynomial, Sigmoid

onnx = pytest.importorskip("onnx", reason='ONNX: pip install "pursuit[onnx]"')
onnxruntime = pytest.importorskip("onnxruntime", reason='pip install "pursuit[onnx]"')
skl2onnx = pytest.importorskip("skl2onnx", reason='pip install "pursuit[onnx]"')

SMALL = {"metric": None, "alpha": 1e-3, "selection": FixedSize(), "max_support": 8}


def classifier(kernel="rbf", gamma=0.3, **settings):
    return KMPClassifier(kernel, gamma=gamma, **{**SMALL, **settings})


def regressor(kernel="rbf", gamma=0.3, **settings):
    return KMPRegressor(kernel, gamma=gamma, **{**SMALL, **settings})


def run(proto, X):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, onnx_inputs(proto, X)), strict=True))


def metadata(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    numbers = np.sin(X[:, 0]) + X[:, 1] ** 2
    two = (X[:, 0] * X[:, 1] > 0).astype(int)
    three = two + (X[:, 2] > 0.5)
    new = 1.3 * rng.normal(size=(300, 4))
    for array in (X, numbers, two, three, new):
        array.setflags(write=False)
    return X, numbers, two, three, new


KERNELS = {
    "rbf": "rbf",
    "narrow": kernels.Gaussian(400.0),
    "laplacian": "laplacian",
    "poly": "poly",
    "linear": "linear",
    "sigmoid": "sigmoid",
    "cosine": "cosine",
    "matern 0.5": kernels.Matern(nu=0.5, gamma=0.2),
    "matern 1.5": kernels.Matern(nu=1.5, gamma=0.2),
    "matern 2.5": kernels.Matern(nu=2.5, gamma=0.2),
    "inverse multiquadric": kernels.InverseMultiquadric(0.4),
    "sum": kernels.Gaussian(0.5) + kernels.Linear(),
    "product": kernels.Gaussian(0.2) * kernels.Laplacian(0.1),
    "scaled": 2.0 * kernels.Gaussian(0.3) + kernels.Constant(3.0),
    "metric": kernels.InMetric(
        kernels.Gaussian(0.3), np.random.default_rng(1).normal(size=(4, 2))
    ),
    "weights": kernels.InMetric(kernels.Laplacian(0.3), np.array([1.0, 0.0, 2.0, 0.5])),
}


@pytest.mark.parametrize("task", ["numbers", "margin", "logistic", "several"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_and_tasks_agree_with_the_model(kernel, task, data):
    X, numbers, two, three, new = data
    gamma = 0.3 if isinstance(kernel, str) else "cv"
    if task == "numbers":
        model = regressor(kernel, gamma).fit(X, np.c_[numbers, -2 * numbers])
    elif task == "several":
        model = classifier(kernel, gamma, loss="logistic").fit(X, three)
    else:
        model = classifier(kernel, gamma, loss=task).fit(X, two)
    proto = to_onnx(model, check=new)
    onnx.checker.check_model(proto, full_check=True)
    found = run(proto, new)
    if task == "numbers":
        wanted, got = model.predict(new), found["variable"]
    elif task == "margin":
        wanted, got = model.decision_function(new), found["scores"][:, 1]
    else:
        wanted, got = model.predict_proba(new), found["probabilities"]
    assert np.abs(got - wanted).max() <= 1e-12 * np.abs(wanted).max()
    if task != "numbers":
        assert (found["label"] == model.predict(new)).all()
    single = check_onnx(model, to_onnx(model, dtype="float32", check=new), new)
    assert single.is_explained
    assert single.relative < 1e-4
    assert single.n_wrong_labels == 0


def test_only_core_operators_are_used(data):
    X, _, _, three, _ = data
    proto = to_onnx(classifier(loss="logistic", multiclass="ovr").fit(X, three))
    assert [each.domain for each in proto.opset_import] == [""]
    assert {node.domain for node in proto.graph.node} == {""}


def test_the_softmax_and_one_against_the_rest_have_probabilities(data):
    from pursuit.losses import Softmax

    X, _, _, three, new = data
    far = np.concatenate([new, 1e3 * new[:5]])
    for settings in ({"loss": Softmax()}, {"loss": "logistic", "multiclass": "ovr"}):
        model = classifier("linear", **settings).fit(X, three)
        P = run(to_onnx(model, check=far), far)["probabilities"]
        assert np.allclose(P, model.predict_proba(far), rtol=1e-12, atol=1e-15)


LABELS = {
    "numbers": (np.array([-3, 7]), np.int64),
    "words": (np.array(["no", "ja, schön"]), object),
    "objects": (np.array(["a", "b"], dtype=object), object),
    "booleans": (np.array([False, True]), np.int64),
    "whole floats": (np.array([1.0, 2.0]), np.int64),
    "small integers": (np.array([0, 200], dtype=np.uint8), np.int64),
}


@pytest.mark.parametrize("names, dtype", LABELS.values(), ids=LABELS)
def test_labels_are_strings_or_whole_numbers(names, dtype, data):
    X, _, two, _, new = data
    model = classifier().fit(X, names[two])
    for precision in ("float64", "float32"):
        label = run(to_onnx(model, dtype=precision), new)["label"]
        assert label.dtype == dtype
        assert (label == model.predict(new)).all()


def fitted(name, X, numbers, two, three):
    d = dictionaries
    makers = {
        "empty": lambda: regressor().fit(X, np.ones(len(X))),
        "one point": lambda: regressor(max_support=1).fit(X, numbers),
        "one feature": lambda: regressor("laplacian").fit(X[:, :1], numbers),
        "counts": lambda: regressor(loss="poisson").fit(X, np.round(numbers**2)),
        "sparse rows": lambda: classifier().fit(sparse.csr_array(X * (X > 0)), three),
        "far from 0": lambda: regressor().fit(X + 1e4, numbers),
        "widths of points": lambda: KMPRegressor(
            dictionary=d.AdaptiveGaussian(), max_support=6
        ).fit(X, numbers),
        "features and points": lambda: KMPRegressor(
            dictionary=d.Union(d.Features(degree=2), d.OneKernel("rbf", gamma=0.3)),
            max_support=8,
        ).fit(X, numbers),
        "constants": lambda: KMPRegressor(
            dictionary=d.Constant(), max_support=2, fit_intercept=False
        ).fit(X, 1.0 + numbers),
        "learned metric": lambda: KMPClassifier(max_support=6).fit(X, three),
        "components": lambda: SparseKernelPCA(4).fit(X),
        "sparse components": lambda: SparseKernelPCA(
            4, kernel="laplacian", center=False
        ).fit(sparse.csr_array(X)),
        "weights": lambda: LearnedMetric("diagonal", max_support=4).fit(X, numbers),
        "directions": lambda: LearnedMetric("full", max_support=4, n_components=2).fit(
            X, numbers
        ),
    }
    return makers[name]()


@pytest.mark.parametrize(
    "name",
    [
        "empty",
        "one point",
        "one feature",
        "counts",
        "sparse rows",
        "far from 0",
        "widths of points",
        "features and points",
        "constants",
        "learned metric",
        "components",
        "sparse components",
        "weights",
        "directions",
    ],
)
def test_special_models_agree_on_drawn_rows(name, data):
    X, numbers, two, three, _ = data
    model = fitted(name, X, numbers, two, three)
    proto = to_onnx(model)
    rows = X[:, : model.n_features_in_] + (1e4 if name == "far from 0" else 0)
    double = check_onnx(model, proto, rows)
    assert double.relative < 1e-12
    single = check_onnx(model, to_onnx(model, dtype="float32"), rows)
    assert single.is_explained
    assert single.digits >= 4


TRANSFORMERS = {
    "standard": StandardScaler(),
    "min-max": MinMaxScaler(clip=True),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "length": Normalizer(),
    "directions": PCA(3),
    "yeo-johnson": PowerTransformer(),
    "box-cox": PowerTransformer("box-cox"),
    "uniform": QuantileTransformer(n_quantiles=30),
    "normal": QuantileTransformer(n_quantiles=37, output_distribution="normal"),
    "logarithm": FunctionTransformer(np.log1p),
}


@pytest.mark.parametrize("transformer", TRANSFORMERS.values(), ids=TRANSFORMERS)
def test_transformers_keep_double_precision(transformer, data):
    X, numbers, _, _, new = data
    X, new = np.exp(X), np.exp(new)
    X = np.where(X[:, [0]] > 1, 0.1 + np.round(X, 1), X)  # equal values, for quantiles
    new = np.concatenate([new, X])
    model = make_pipeline(transformer, StandardScaler(), regressor()).fit(X, numbers)
    assert check_onnx(model, to_onnx(model, check=new), new).relative < 1e-12
    single = check_onnx(model, to_onnx(model, check=new, dtype="float32"), new)
    assert single.digits >= 4


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_quantiles_of_whole_numbers_jump_alike_in_both_precisions(output):
    """Quantiles such as 3.9999999999999996 become 4 in single precision."""
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, size=(250, 3)) * 1.1
    X[:, 2] = 5.0
    transformer = QuantileTransformer(n_quantiles=77, output_distribution=output)
    model = make_pipeline(transformer, regressor()).fit(X, X[:, 0])
    new = np.concatenate([X, X + 0.3, X - 9.0, X + 40.0])
    assert check_onnx(model, to_onnx(model, check=new), new).relative < 1e-12
    single = to_onnx(model, check=new, dtype="float32")
    assert check_onnx(model, single, new).relative < 1e-4


@pytest.mark.parametrize("with_flags", [False, True])
def test_missing_numbers_are_filled(with_flags, data):
    X, numbers, _, _, new = data
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    new = np.where(rng.random(new.shape) < 0.2, np.nan, new)
    imputer = SimpleImputer(strategy="median", add_indicator=with_flags)
    model = make_pipeline(imputer, regressor()).fit(X, numbers)
    for dtype, bound in (("float64", 1e-12), ("float32", 1e-4)):
        proto = to_onnx(model, check=new, dtype=dtype)
        assert check_onnx(model, proto, new).relative < bound


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "length (cm)": rng.normal(size=n),
            "color": rng.choice(["red", "green", "blue"], n),
            "doors": rng.integers(2, 6, n),
            "age": rng.exponential(10.0, n),
            "unused": rng.choice(["?", "!"], n),
        }
    )


def in_columns():
    return make_column_transformer(
        (StandardScaler(), ["length (cm)"]),
        (make_pipeline(SimpleImputer(), PowerTransformer()), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["color", "doors"]),
    )


@pytest.fixture(scope="module")
def table_model():
    X = frame(90)
    y = np.where((X["color"] == "red") == (X["age"] > 8), "good", "bad")
    return make_pipeline(in_columns(), classifier(loss="logistic")).fit(X, y)


@pytest.mark.parametrize("dtype, bound", [("float64", 1e-12), ("float32", 1e-4)])
def test_a_table_has_an_input_for_each_column(table_model, dtype, bound):
    new = frame(200, seed=1)
    new.loc[3, "color"] = "violet"
    new.loc[5, "age"] = np.nan
    proto = to_onnx(table_model, check=new, dtype=dtype)
    names = [each.name for each in proto.graph.input]
    assert names == ["length (cm)", "color", "doors", "age"]
    found = run(proto, new)
    assert np.abs(found["probabilities"] - table_model.predict_proba(new)).max() < bound
    if dtype == "float64":
        assert (found["label"] == table_model.predict(new)).all()
    in_polars = run(proto, pl.from_pandas(new))
    assert (in_polars["probabilities"] == found["probabilities"])[6:].all()


def test_text_without_names_is_told_by_its_place():
    X = frame(60)[["age", "color"]].to_numpy(dtype=object)
    y = X[:, 0].astype(float)
    columns = make_column_transformer((StandardScaler(), [0]), (OrdinalEncoder(), [1]))
    model = make_pipeline(columns, regressor()).fit(X, y)
    proto = to_onnx(model, check=X)
    assert [each.name for each in proto.graph.input] == ["x0", "x1"]
    assert check_onnx(model, proto, X).relative < 1e-12


@pytest.mark.parametrize("encoder", [OneHotEncoder(drop="first"), OrdinalEncoder()])
def test_missing_text_is_a_category_or_filled(encoder):
    X = frame(60)[["age", "color"]]
    X["color"] = X["color"].astype(object).where(X["age"] > 2, np.nan)
    y = X["age"].to_numpy()
    columns = make_column_transformer(
        (StandardScaler(), ["age"]),
        (encoder, ["color"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), [1]),
    )
    model = make_pipeline(columns, SimpleImputer(), regressor()).fit(X, y)
    for dtype, bound in (("float64", 1e-12), ("float32", 1e-4)):
        assert (
            check_onnx(model, to_onnx(model, check=X, dtype=dtype), X).relative < bound
        )


def test_rare_and_unknown_words_have_a_place():
    X = frame(80)
    X.loc[:2, "color"] = ["pink", "violet", "white"]
    rare = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((rare, ["color"]), (coded, ["doors", "color"]))
    model = make_pipeline(columns, regressor()).fit(X, X["age"])
    new = frame(40, seed=2)
    new.loc[:1, "color"] = ["pink", "orange"]
    new.loc[3, "doors"] = 99
    assert check_onnx(model, to_onnx(model, check=new), new).relative < 1e-12


def test_text_that_skl2onnx_reads_must_be_there():
    X = frame(60)[["age", "color"]]
    y = (X["age"] > 5).to_numpy()
    columns = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), [1])
    )
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    proto = to_onnx(model, check=X)
    assert [each.name for each in proto.graph.input] == ["age", "color"]
    assert check_onnx(model, proto, X).digits >= 6
    X["color"] = X["color"].astype(object)
    X.loc[3, "color"] = None
    with pytest.raises(ValueError, match="Column 'color' holds None in row 3"):
        onnx_inputs(proto, X)


def test_the_target_may_be_scaled(data):
    X, numbers, _, _, new = data
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), regressor()), transformer=StandardScaler()
    ).fit(X, 1e3 * numbers)
    assert check_onnx(model, to_onnx(model), new).relative < 1e-12


def test_rows_are_drawn_for_models_of_frames(data):
    X, numbers, _, _, _ = data
    X = pd.DataFrame(X, columns=list("abcd"))
    for steps in ([], [StandardScaler()], [PowerTransformer()]):
        model = make_pipeline(*steps, regressor()).fit(X, numbers)
        proto = to_onnx(model)
        assert [each.name for each in proto.graph.input] == ["X"]
        assert " rows in float64" in metadata(proto)["agreement"]


def test_a_frame_without_a_column_is_refused(table_model):
    X = frame(8)
    proto = to_onnx(table_model, check=X)
    with pytest.raises(ValueError, match=r"no columns \['age'\]"):
        onnx_inputs(proto, X.drop(columns="age"))


def test_skl2onnx_needs_no_preparation(data):
    X, numbers, two, _, new = data
    pipe = make_pipeline(StandardScaler(), classifier(loss="logistic")).fit(X, two)
    proto = skl2onnx.to_onnx(pipe, X)
    assert [each.name for each in proto.graph.output] == ["label", "probabilities"]
    assert check_onnx(pipe, proto, new).relative < 1e-12
    search = GridSearchCV(regressor(), {"gamma": [0.1, 0.3]}, cv=2).fit(X, numbers)
    assert check_onnx(search, skl2onnx.to_onnx(search, X), new).relative < 1e-12
    found = run(skl2onnx.to_onnx(pipe[-1], pd.DataFrame(X, columns=list("abcd"))), X)
    assert np.abs(found["probabilities"] - pipe[-1].predict_proba(X)).max() < 1e-12


def test_skl2onnx_starts_without_any_export(data, tmp_path):
    """In an interpreter of its own, where nothing of the export was imported."""
    X, _, two, _, _ = data
    pipe = make_pipeline(StandardScaler(), classifier(loss="logistic")).fit(X, two)
    joblib.dump(pipe, tmp_path / "pipe.joblib")
    code = f"""
import sys, joblib, numpy as np, skl2onnx
pipe = joblib.load({str(tmp_path / "pipe.joblib")!r})
assert "pursuit.export" not in sys.modules
proto = skl2onnx.to_onnx(pipe, np.zeros((1, 4)), options={{"zipmap": False}})
assert [each.name for each in proto.graph.output] == ["label", "probabilities"]
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("key", ["id", "type", "word"])
def test_options_of_skl2onnx_are_known(key, data):
    X, _, two, _, new = data
    model = classifier(loss="logistic").fit(X, two)
    if key == "word":
        raw, off = {"raw_scores": True}, {"zipmap": False}
    else:
        model_key = id(model) if key == "id" else KMPClassifier
        raw, off = {model_key: {"raw_scores": True}}, {model_key: {"zipmap": False}}
    assert "probabilities" in run(skl2onnx.to_onnx(model, X, options=off), new)
    scores = run(skl2onnx.to_onnx(model, X, options=raw), new)["scores"]
    values = model.decision_function(new)
    assert np.allclose(scores, np.c_[-values, values], rtol=1e-12)


def test_estimators_within_others_are_found_in_a_fresh_process():
    """The registers of skl2onnx are empty there."""
    code = """
import numpy as np, skl2onnx
from sklearn.calibration import CalibratedClassifierCV
from pursuit import KMPClassifier
from pursuit.export import check_onnx, onnx, to_onnx
X = np.random.default_rng(0).normal(size=(60, 2))
y = X[:, 0] * X[:, 1] > 0
held = KMPClassifier("rbf", gamma=1.0, alpha=1e-3, max_support=5, selection=None)
model = CalibratedClassifierCV(held, cv=2).fit(X, y)
assert check_onnx(model, to_onnx(model, check=X), X).digits >= 9
"""
    run_apart(code)
    run_apart(
        code.replace(
            "to_onnx(model, check=X)",
            "skl2onnx.to_onnx(model, X, options={'zipmap': False})",
        ).replace("model = ", "onnx.register_all()\nmodel = ")
    )


def run_apart(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr


def test_whole_parameters_of_kernels_are_numbers_of_the_graph(data):
    X, y, _, _, new = data
    for kernel in (Polynomial(3, 0.5, coef0=1), Sigmoid(0.1, coef0=1)):
        model = KMPRegressor(kernel, max_support=5, alpha=1e-3, selection=None)
        model.fit(X, y)
        assert check_onnx(model, to_onnx(model, check=X), new).relative < 1e-12


def test_columns_that_no_step_reads_may_hold_dates(data):
    X, y, _, _, _ = data
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    table["day"] = pd.Timestamp("2024-01-31")
    read = make_column_transformer((StandardScaler(), list(table.columns[:-1])))
    held = KMPRegressor("rbf", gamma=1.0, alpha=1e-3, max_support=5, selection=None)
    model = make_pipeline(read, held).fit(table, y)
    assert check_onnx(model, to_onnx(model, check=table), table).digits >= 9


def test_other_estimators_may_hold_a_model(data):
    X, _, two, _, new = data
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(X, two)
    assert check_onnx(calibrated, to_onnx(calibrated, check=X), new).digits >= 9
    mapped = make_pipeline(
        StandardScaler(), SparseKernelPCA(5), LogisticRegression()
    ).fit(X, two)
    assert check_onnx(mapped, to_onnx(mapped, check=X), new).relative < 1e-12
    in_metric = make_pipeline(LearnedMetric("diagonal", max_support=4), classifier())
    in_metric.fit(X, two)
    assert check_onnx(in_metric, to_onnx(in_metric, check=X), new).n_labels == 0


@pytest.mark.parametrize("opset", [13, 15, 18, 21])
def test_opsets(opset, data):
    X, _, _, three, new = data
    pipe = make_pipeline(
        QuantileTransformer(n_quantiles=9), classifier("laplacian", loss="logistic")
    ).fit(X, three)
    proto = to_onnx(pipe, check=new, opset=opset)
    assert {e.domain: e.version for e in proto.opset_import}[""] == opset
    onnx.checker.check_model(proto, full_check=True)


def test_outputs_can_be_chosen(data):
    X, _, two, three, new = data
    model = classifier(loss="logistic").fit(X, three)
    proto = to_onnx(model, outputs=("scores", "label"))
    assert [each.name for each in proto.graph.output] == ["scores", "label"]
    found = run(proto, new)
    assert np.allclose(found["scores"], model.decision_function(new), rtol=1e-12)
    pipe = make_pipeline(StandardScaler(), clone(model)).fit(X, two)
    assert list(run(to_onnx(pipe, outputs="label"), new)) == ["label"]
    with pytest.raises(ValueError, match="outputs='proba' must be some of"):
        to_onnx(model, outputs="proba")
    with pytest.raises(ValueError, match="this model has: 'label', 'scores'"):
        to_onnx(classifier().fit(X, two), outputs=["probabilities"])


def test_batches_of_any_length_have_answers(data):
    X, numbers, _, _, new = data
    for kernel in ("rbf", "laplacian"):
        model = regressor(kernel).fit(X, numbers)
        proto = to_onnx(model)
        for n in (0, 1, 2, 300):
            assert run(proto, new[:n])["variable"].shape == (n, 1)
    constant = to_onnx(regressor().fit(X, np.ones(len(X))))
    assert run(constant, new[:7])["variable"].tolist() == [[1.0]] * 7


@pytest.mark.parametrize("share", [1, 1 / 30])
def test_differences_are_taken_where_squares_would_cancel(share, data):
    """Points many widths from their mean: all of them, or a few."""
    X, numbers, _, _, _ = data
    far = 300.0 if share == 1 else np.where(np.arange(len(X)) % 30 == 0, 30.0, 1.0)
    X = X * np.reshape(far, (-1, 1))
    model = regressor(gamma=1.0, max_support=60).fit(X, numbers)
    proto = to_onnx(model, dtype="float32", check=X)
    assert check_onnx(model, proto, X).relative < 1e-5
    operators = {node.op_type for node in proto.graph.node}
    assert "Transpose" in operators  # differences
    assert ("Min" in operators) == (share < 1)  # squares, cut at 0


def test_no_graph_holds_differences_in_all_columns_of_many_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    model = regressor("laplacian", gamma=0.01, max_support=100).fit(X, X[:, 0])
    proto = onnx.shape_inference.infer_shapes(to_onnx(model, check=X))
    sizes = [
        np.prod([d.dim_value or 1 for d in value.type.tensor_type.shape.dim])
        for value in proto.graph.value_info
    ]
    assert max(sizes) <= 512


def alter(proto, by):
    for tensor in proto.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if array.dtype == np.float64 and array.size > 1:
            changed = array * (1 + by)
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed, tensor.name))
            return


def test_the_check_finds_an_altered_constant(data, monkeypatch):
    X, numbers, _, _, new = data
    model = regressor().fit(X, numbers)
    proto = to_onnx(model)
    assert check_onnx(model, proto, new).is_explained
    alter(proto, 1e-6)
    agreement = check_onnx(model, proto, new)
    assert not agreement.is_explained
    assert 4 <= agreement.digits <= 7
    from pursuit.export.onnx import writing

    written = writing._written

    def altered(*args):
        proto = written(*args)
        alter(proto, 1e-3)
        return proto

    monkeypatch.setattr(writing, "_written", altered)
    with pytest.raises(RuntimeError, match="does not agree with the model on 208 rows"):
        to_onnx(model)
    assert to_onnx(model, check=False).graph.node


def test_the_check_counts_wrong_labels(data):
    X, _, two, _, new = data
    model = classifier().fit(X, two)
    other = to_onnx(classifier().fit(X, 1 - two))
    agreement = check_onnx(model, other, new)
    assert agreement.n_labels == agreement.n_wrong_labels > 200
    assert not agreement.is_explained


def test_lost_digits_are_told():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 3, axis=0) + 1e-5 * rng.normal(size=(60, 3))
    model = regressor(gamma=0.05, alpha=0, max_support=40).fit(X, rng.normal(size=60))
    assert np.abs(model.dual_coef_).max() > 1e7
    with pytest.warns(UserWarning, match=r"\d of 7 digits agree.*largest coefficient"):
        proto = to_onnx(model, dtype="float32", check=X)
    assert "of 7 digits" in metadata(proto)["agreement"]
    assert check_onnx(model, to_onnx(model, check=X), X).is_explained


def test_a_graph_describes_itself(data):
    X, _, two, _, _ = data
    proto = to_onnx(classifier().fit(X, two))
    assert proto.producer_name == "pursuit"
    facts = metadata(proto)
    assert facts["model"] == "KMPClassifier"
    assert facts["functions"] == "8"
    assert facts["kernel"] == "Gaussian(gamma=0.3)"
    assert facts["agreement"].startswith("208 rows in float64: numbers differ by")


def test_a_file_is_written_whole(data, tmp_path, monkeypatch):
    X, numbers, _, _, new = data
    model = regressor().fit(X, numbers)
    path = tmp_path / "model.onnx"
    proto = to_onnx(model, path)
    assert onnx.load(path) == proto
    assert check_onnx(model, path, new).is_explained
    old = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        to_onnx(regressor(max_support=2).fit(X, numbers), path)
    assert path.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("name", ["onnx", "onnxruntime", "skl2onnx"])
def test_a_missing_package_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'{name}, which .*"pursuit\[onnx\]"'):
        needed(name)


def test_what_has_no_graph_is_refused(data):
    X, numbers, two, _, _ = data
    both = np.c_[numbers, two]
    for other in (
        HKNNClassifier().fit(X, two),
        ParzenWindows().fit(X),
        SparseKernelCCA(1, max_support=4).fit(X, both),
        make_pipeline(StandardScaler(), HKNNClassifier()).fit(X, two),
    ):
        with pytest.raises(UnsupportedError, match="cannot be written as ONNX: KMP"):
            to_onnx(other)
    of_the_user = regressor(lambda A, B: A @ B.T, gamma="cv").fit(X, numbers)
    with pytest.raises(UnsupportedError, match="calls Python code"):
        to_onnx(of_the_user)
    given = SparseKernelPCA(3, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(UnsupportedError, match="kernel='precomputed' has no formula"):
        to_onnx(given)
    for step in (SplineTransformer(), FunctionTransformer(np.sin)):
        pipe = make_pipeline(step, regressor()).fit(X, numbers)
        with pytest.raises(UnsupportedError):
            to_onnx(pipe, check=X)
    with pytest.raises(NotFittedError):
        to_onnx(KMPRegressor())


def test_bad_parameters_are_named(data):
    X, numbers, two, _, _ = data
    model = regressor().fit(X, numbers)
    with pytest.raises(ValueError, match="dtype='float16'"):
        to_onnx(model, dtype="float16")
    with pytest.raises(ValueError, match="opset=9 must be a whole number from 13"):
        to_onnx(model, opset=9)
    with pytest.raises(ValueError, match="opset=12 is too old"):
        skl2onnx.to_onnx(model, X, target_opset=12)
    for step in (Normalizer(), SimpleImputer()):
        with pytest.raises(ValueError, match="pass some rows as check=X"):
            to_onnx(make_pipeline(step, regressor()).fit(X, numbers))
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, two)
    with pytest.raises(ValueError, match="LogisticRegression has none: pass some"):
        to_onnx(logistic)
    with pytest.raises(ValueError, match="outputs='label' cannot be chosen"):
        to_onnx(logistic, outputs="label", check=X)
