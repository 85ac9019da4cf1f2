"""Models come back from files as they were, and errors leave files as they were."""

import io
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from mutations import parts_of
from saved_models import MODELS, answers, moons, people, waves
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

import pursuit
from pursuit import (
    CrossValidation,
    FixedSize,
    HKNNClassifier,
    KMPClassifier,
    KMPRegressor,
    SparseKernelCCA,
    dictionaries,
    kernels,
    losses,
    methods,
    metrics,
    selection,
)
from pursuit.files import container, dumps, loads

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module", params=MODELS)
def saved(request):
    """A model, rows, the bytes of its file, and the model that comes back."""
    model, X = MODELS[request.param]()
    content = dumps(model)
    return model, X, content, loads(content)


@pytest.fixture(scope="module")
def small():
    X, y = moons()
    model = KMPClassifier("rbf", gamma=2.0, max_support=9, alpha=1e-3)
    return model.set_params(selection=FixedSize(2)).fit(X, y), X, y


def assert_same(a, b):
    """Assert that two results are equal to the last bit."""
    assert type(a) is type(b)
    if sparse.issparse(a):
        a, b = a.toarray(), b.toarray()
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b or (a != a and b != b)


# -- round trips -------------------------------------------------------------------


def test_answers_come_back_to_the_last_bit(saved):
    model, X, _, loaded = saved
    wanted, found = answers(model, X), answers(loaded, X)
    assert wanted.keys() == found.keys()
    assert wanted
    for name, values in wanted.items():
        assert_same(values, found[name])


def test_a_model_that_was_loaded_has_the_same_file(saved):
    _, _, content, loaded = saved
    assert dumps(loaded) == content


def test_parameters_come_back(saved):
    model, _, _, loaded = saved
    assert type(loaded) is type(model)
    assert told(loaded) == told(model)
    wanted, found = model.get_params(), loaded.get_params()
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        if value is None or isinstance(value, str | int | float | bool | np.ndarray):
            assert_same(value, found[name])
    assert told(clone(loaded)) == told(clone(model))


def told(model):
    """Return the text of a model, without addresses in memory."""
    return re.sub(r" at 0x\w+", "", repr(model))


def test_fitted_attributes_come_back(saved):
    """All that ends in an underscore, and what other methods need."""
    model, _, _, loaded = saved
    for name, value in vars(model).items():
        if name == "_seconds":
            continue  # how long the fit took: equal models have equal files
        assert hasattr(loaded, name), name
        if isinstance(value, np.ndarray | str | int | float):
            assert_same(value, getattr(loaded, name))


def test_a_loaded_model_can_be_pickled_and_fitted_again(saved):
    model, X, _, loaded = saved
    again = pickle.loads(pickle.dumps(loaded))
    for name, values in answers(loaded, X).items():
        assert_same(values, answers(again, X)[name])
    assert dumps(clone(loaded)) == dumps(clone(model))  # unfitted models have files too


def test_the_path_comes_back(small):
    model, X, y = small
    loaded = loads(dumps(model))
    assert repr(loaded.path_) == repr(model.path_)
    for a, b in zip(
        model.staged_decision_function(X),
        loaded.staged_decision_function(X),
        strict=True,
    ):
        assert_same(a, b)
    for n in (None, 0, 4):
        a, b = model.truncate(n), loaded.truncate(n)
        assert_same(a.decision_function(X), b.decision_function(X))
    assert_same(model.feature_importances_, loaded.feature_importances_)
    assert str(loaded.summary()) == re.sub(r"\n  fit .*", "", str(model.summary()))
    assert_same(float(model.bound(X, y)[-1]), float(loaded.bound(X, y)[-1]))
    for wanted, found in zip(model.search_, loaded.search_, strict=True):
        assert wanted.keys() == found.keys()
        for name, value in wanted.items():
            assert_same(value, found[name])


@pytest.mark.parametrize("refitted", [False, True])
@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
@pytest.mark.parametrize("n", [None, 0, 2])
def test_truncated_models_come_back(refitted, multiclass, n):
    X, _ = waves(40)
    y = np.digitize(X[:, 0], [-0.7, 0.7])
    loss = "logistic" if refitted else "squared"
    model = KMPClassifier("rbf", gamma=1.0, loss=loss, multiclass=multiclass)
    model.set_params(max_support=4, alpha=1e-2, selection=None).fit(X, y)
    model = model.truncate(n)
    loaded = loads(dumps(model))
    assert_same(model.decision_function(X), loaded.decision_function(X))
    assert loaded.stop_reason_ == model.stop_reason_
    assert loaded.n_support_ == model.n_support_


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["nein", "ja, Größe"]),
        np.array([3, 17]),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array([1, 2], dtype=np.int8),
        np.array(["a", "b"], dtype=object),
    ],
)
def test_labels_come_back(labels):
    X, y = moons(40)
    model = KMPClassifier("rbf", gamma=1.0, max_support=3, selection=None, alpha=1e-3)
    model.fit(X, labels[y])
    loaded = loads(dumps(model))
    assert_same(model.classes_, loaded.classes_)
    assert_same(model.predict(X), loaded.predict(X))


COMPONENTS = [
    *(getattr(selection, name)() for name in selection.__all__),
    *(getattr(methods, name)() for name in methods.__all__),
    *(metrics.Best(3), metrics.Given(np.array([1.0, 2.0]))),
    *(losses.Huber(0.5), losses.Quantile(0.9), losses.Hinge()),
    *(kernels.Gaussian("scale"), 0.5 * kernels.Sigmoid(0.1, 1.0) + 2.0),
    *(
        dictionaries.AdaptiveGaussian(gamma_range=(0.1, 2.0)),
        dictionaries.KernelPerClass({"a": "rbf", "b": kernels.Linear()}),
        dictionaries.ManyKernels(["rbf", kernels.Matern()], centers=np.eye(2)),
        dictionaries.Precomputed(True) + dictionaries.Constant(),
    ),
    CrossValidation(KFold(4, shuffle=True, random_state=1), scoring="accuracy"),
    {0: 1.0, 1: 2.5},
    {"a": np.float32(0.5), "b": None},
    np.float32,
    1 << 40,
    [(1, 2.5), ("a", float("inf"))],
    sparse.csr_matrix(np.eye(3)),
]


@pytest.mark.parametrize("value", COMPONENTS, ids=lambda value: repr(value)[:40])
def test_parameters_of_any_kind_come_back(value):
    """Parameters are saved as they are, whether or not a fit would accept them."""
    model = KMPClassifier(selection=value)
    loaded = loads(dumps(model)).selection
    assert type(loaded) is type(value) or isinstance(value, np.generic)
    if sparse.issparse(value):
        assert (loaded != value).nnz == 0
    else:
        assert repr(loaded) == repr(value).replace("np.float32(0.5)", "0.5")


def test_a_random_state_comes_back_with_its_state():
    state = np.random.RandomState(3)
    state.normal()
    loaded = loads(dumps(KMPClassifier(random_state=state))).random_state
    np.testing.assert_array_equal(loaded.normal(size=5), state.normal(size=5))


def test_sparse_points_stay_sparse():
    model, _ = MODELS["sparse_rows"]()
    loaded = loads(dumps(model))
    assert type(loaded.support_vectors_) is type(model.support_vectors_)
    assert (loaded.support_vectors_ != model.support_vectors_).nnz == 0


def test_frames_of_either_library_and_output_settings():
    polars = pytest.importorskip("polars")
    X, y = moons(40)
    for library in (pd, polars):
        frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1]})
        scaler = StandardScaler().set_output(transform=library.__name__)
        model = make_pipeline(scaler, HKNNClassifier(3)).fit(frame, y)
        loaded = loads(dumps(model))
        assert_same(model.predict(frame), loaded.predict(frame))
        assert type(loaded[0].transform(frame)) is type(frame)
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(frame[["b", "a"]])


def test_names_of_a_second_view():
    X, y = waves(40)
    views = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame({"u": y, "v": y**2})
    model = SparseKernelCCA(1, max_support=3).fit(*views)
    loaded = loads(dumps(model))
    assert_same(model.correlations(*views), loaded.correlations(*views))
    assert_same(model.bound(0.5), loaded.bound(0.5))
    with pytest.raises(ValueError, match="second view"):
        loaded.transform(views[0], views[1].rename(columns={"u": "w"}))


# -- preparation -------------------------------------------------------------------

ENCODERS = [
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary", sparse_output=False),
    OneHotEncoder(max_categories=2, drop="first"),
    OneHotEncoder(min_frequency=0.34, handle_unknown="infrequent_if_exist"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    OrdinalEncoder(min_frequency=21),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_encoders(encoder):
    frame, y = people()
    frame.loc[::9, "town"] = None
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    columns = ColumnTransformer([("words", words, ["town", "size"])])
    columns.fit(frame, y)
    loaded = loads(dumps(columns))
    assert_same(columns.transform(frame), loaded.transform(frame))
    assert_same(columns.get_feature_names_out(), loaded.get_feature_names_out())


@pytest.mark.parametrize(
    "step",
    [
        PowerTransformer(standardize=False),
        PowerTransformer(method="box-cox"),
        QuantileTransformer(n_quantiles=5, output_distribution="normal"),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        SimpleImputer(strategy="constant", fill_value=3.0, add_indicator=True),
        SimpleImputer(missing_values=1.0),
        MinMaxScaler(),
        RobustScaler(),
        FunctionTransformer(
            np.log1p, np.expm1, check_inverse=False, feature_names_out="one-to-one"
        ),
        PCA(),
        PCA(0.5, whiten=True),
        TruncatedSVD(1, random_state=0),
        FeatureUnion([("a", StandardScaler()), ("b", PCA(1))], n_jobs=1),
        FeatureUnion([("a", MaxAbsScaler())], transformer_weights={"a": 3}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_steps(step, dtype):
    step = clone(step)
    X = (np.abs(waves()[0]) + 1.0).astype(dtype)
    X[::5, 0] = 1.0
    loaded = loads(dumps(step.fit(X)))
    assert_same(step.transform(X), loaded.transform(X))
    assert_same(step.get_feature_names_out(), loaded.get_feature_names_out())


def test_components_of_sparse_rows():
    X = sparse.csr_array(np.where(np.abs(waves()[0]) > 1, waves()[0], 0.0))
    svd = TruncatedSVD(1, random_state=0).fit(X)
    assert_same(svd.transform(X), loads(dumps(svd)).transform(X))


def test_what_principal_components_tell():
    X, _ = waves()
    model = PCA(1).fit(X)
    loaded = loads(dumps(model))
    assert_same(model.score_samples(X), loaded.score_samples(X))
    assert_same(model.get_covariance(), loaded.get_covariance())
    assert_same(model.inverse_transform(X[:, :1]), loaded.inverse_transform(X[:, :1]))


@pytest.mark.parametrize(
    "transformer",
    [
        None,
        StandardScaler(),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=9),
        MaxAbsScaler(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_outputs", [0, 1, 2])
def test_transformed_targets(transformer, n_outputs):
    X, y = waves()
    y = np.c_[y, y**2][:, :n_outputs] if n_outputs else y
    how = {"max_support": 3, "selection": None, "alpha": 1e-3, "gamma": 1.0}
    model = TransformedTargetRegressor(
        KMPRegressor("rbf", **how), transformer=transformer
    )
    frame = pd.DataFrame(X, columns=["a", "b"])
    loaded = loads(dumps(model.fit(frame, y)))
    assert_same(model.predict(frame), loaded.predict(frame))
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert loaded.n_features_in_ == 2
    assert_same(loaded.fit(frame, y).predict(frame), model.predict(frame))


@pytest.mark.parametrize("model", [TransformedTargetRegressor(), PCA(2)], ids=repr)
def test_parts_that_are_not_fitted(model):
    assert str(loads(dumps(model))) == str(model)


def test_a_union_keeps_its_output():
    frame = pd.DataFrame(waves()[0], columns=["a", "b"])
    union = FeatureUnion([("a", StandardScaler()), ("b", PCA(1))])
    union.set_output(transform="pandas").fit(frame)
    loaded = loads(dumps(union))
    pd.testing.assert_frame_equal(loaded.transform(frame), union.transform(frame))


@pytest.mark.parametrize("kind", [FeatureUnion, ColumnTransformer])
def test_a_file_does_not_start_thousands_of_processes(kind):
    step = StandardScaler()
    parts = [("a", step, [0, 1])] if kind is ColumnTransformer else [("a", step)]
    model = kind(parts).fit(waves()[0])
    model.n_jobs = 100_000
    assert loads(dumps(model)).n_jobs == os.cpu_count()


@pytest.mark.parametrize("remainder", ["drop", "passthrough", StandardScaler()])
@pytest.mark.parametrize("columns", [[0], slice(0, 1), [True, False], [1, 0], []])
def test_columns_of_arrays(columns, remainder):
    X, _ = waves()
    model = ColumnTransformer([("a", StandardScaler(), columns)], remainder=remainder)
    model.fit(X)
    loaded = loads(dumps(model))
    assert_same(model.transform(X), loaded.transform(X))
    # There is none without any output.
    assert loaded.output_indices_ == getattr(model, "output_indices_", {})
    assert_same(model.get_feature_names_out(), loaded.get_feature_names_out())


# -- formulas ----------------------------------------------------------------------


def value_of(tree, arrays):
    """Return a formula's tree with its arrays, by what the documentation says."""
    if isinstance(tree, list):
        return [value_of(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"array"}:
        return arrays[tree["array"]]
    if set(tree) == {"float"}:
        return float(tree["float"])
    return {key: value_of(v, arrays) for key, v in tree.items()}


def read_elsewhere(content):
    """Read a file as another language would, without the library."""
    assert content[:8] == b"\x89PURSUIT"
    version, n = struct.unpack("<II", content[8:16])
    assert version == 1
    header = json.loads(content[16 : 16 + n])
    data = content[16 + n :]
    arrays = [
        np.frombuffer(data, a["dtype"], int(np.prod(a["shape"])), a["offset"]).reshape(
            a["shape"]
        )
        for a in header["arrays"]
    ]
    return value_of(header["formula"], arrays)


def test_another_language_can_predict_from_the_formula(small):
    model, X, _ = small
    formula = read_elsewhere(dumps(model))
    assert formula["type"] == "Formula"
    assert formula["answer"]["labels"] == [0, 1]
    (group,) = formula["groups"]
    leaf = group["kernel"]
    assert (leaf["type"], leaf["quantity"]) == ("Comparison", "squared-distance")
    Z = X - leaf["origin"]
    squares = np.square(Z[:, None] - leaf["centers"]).sum(axis=2)
    values = np.exp(-leaf["gamma"] * squares) @ formula["coef"].T + formula["intercept"]
    np.testing.assert_allclose(values[:, 0], model.decision_function(X), rtol=1e-12)


def test_a_model_without_a_formula_has_null():
    model, _ = MODELS["oriented"]()
    assert parts_of(dumps(model))[0]["formula"] is None
    assert parts_of(dumps(KMPClassifier()))[0]["formula"] is None


def test_formulas_keep_the_names_of_the_classes(saved):
    """What readers in other languages rely on."""
    formula = parts_of(saved[2])[0]["formula"]
    if formula is not None:
        names = {"type", "inputs", "steps", "groups", "coef", "intercept", "answer"}
        assert set(formula) == names
        assert formula["type"] == "Formula"


@pytest.mark.parametrize("name", ["classes", "sums_of_kernels", "scaled"])
def test_the_reader_in_javascript(name, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    model, X = MODELS[name]()
    pursuit.save(model, tmp_path / "m")
    folder = Path(pursuit.__file__).parent / "export"
    code = "\n".join((folder / f).read_text() for f in ("runtime.js", "reader.js"))
    rows = np.nan_to_num(X[:9], nan=0.5)
    code += f"""
      const content = require("fs").readFileSync({json.dumps(str(tmp_path / "m"))});
      const first = content.byteOffset;
      const file = content.buffer.slice(first, first + content.length);
      const model = new Model(readModelFile(file).formula);
      const values = {json.dumps(rows.tolist())}.map((row) => model.values(row)[0]);
      console.log(JSON.stringify(values));
    """
    (tmp_path / "run.cjs").write_text(code)
    run = [node, str(tmp_path / "run.cjs")]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    answer = getattr(model, "decision_function", model.predict)
    np.testing.assert_allclose(json.loads(out.stdout), answer(rows), rtol=1e-9)


# -- the promise -------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.pursuit")), ids=lambda p: p.stem)
def test_files_of_every_release_stay_readable(path):
    known = json.loads(path.with_suffix(".json").read_text())
    X = np.array(known["X"])
    if known["columns"] is not None:
        X = pd.DataFrame(X, columns=known["columns"])
    model = pursuit.load(path)
    for name, values in known["answers"].items():
        found = answers(model, X)[name]
        if isinstance(np.ravel(values)[0], str):
            assert found.tolist() == values
        else:
            np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-12)


def test_there_are_golden_files():
    assert len(list(GOLDEN.glob("*.pursuit"))) >= 8


# -- writing -----------------------------------------------------------------------


def test_save_and_load(tmp_path, small):
    model, X, _ = small
    path = tmp_path / "größe.pursuit"
    for where in (path, str(path)):
        assert model.save(where) is None
        assert_same(pursuit.load(where).predict(X), model.predict(X))
    pursuit.save(make_pipeline(StandardScaler(), model), path)
    assert isinstance(pursuit.load(path), Pipeline)
    assert [p.name for p in tmp_path.iterdir()] == ["größe.pursuit"]


def test_open_files(small):
    model, X, _ = small
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    assert_same(pursuit.load(file).predict(X), model.predict(X))
    with pytest.raises(TypeError, match="mode 'rb'"):
        pursuit.load(io.StringIO("text"))


def test_equal_models_have_equal_files():
    X, y = moons(40)
    model = KMPClassifier("rbf", gamma=1.0, max_support=3, selection=None, alpha=1e-3)
    contents = {dumps(clone(model).fit(X, y)) for _ in range(2)}
    assert len(contents) == 1


def test_every_estimator_can_be_saved():
    kinds = [getattr(pursuit, name) for name in pursuit.__all__]
    for kind in kinds:
        if hasattr(kind, "fit"):
            assert hasattr(kind, "save"), kind


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, small, monkeypatch):
    path = tmp_path / "model.pursuit"
    small[0].save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", _failing)
    with pytest.raises(OSError, match="the disk is full"):
        small[0].truncate(1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def _failing(*_):
    raise OSError("the disk is full")


def test_a_link_stays_a_link(tmp_path, small):
    target, link = tmp_path / "a.pursuit", tmp_path / "link.pursuit"
    small[0].save(target)
    link.symlink_to(target)
    small[0].truncate(1).save(link)
    assert link.is_symlink()
    assert pursuit.load(target).n_support_ == 1


def test_new_files_have_the_usual_permissions(tmp_path, small):
    (tmp_path / "other").write_bytes(b"")
    small[0].save(tmp_path / "model.pursuit")
    modes = {p.stat().st_mode for p in tmp_path.iterdir()}
    assert len(modes) == 1


def test_folders_and_missing_files(tmp_path, small):
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere"):
        small[0].save(tmp_path / "nowhere" / "model.pursuit")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        small[0].save(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        pursuit.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file"):
        pursuit.load(tmp_path / "model.pursuit")
    for path in (3, b"model.pursuit", None):
        with pytest.raises(TypeError, match="path must be"):
            pursuit.load(path)


def test_files_of_other_kinds_are_told(tmp_path, small):
    model = small[0]
    joblib.dump(model, tmp_path / "joblib")
    joblib.dump(model, tmp_path / "compressed", compress=3)
    np.savez(tmp_path / "zip.npz", a=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08\x12\x08skl2onnx\x1a")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "noise").write_bytes(b"\xff\xfe\xfd" * 9)
    words = {
        "joblib": "pickle",
        "compressed": "compressed pickle",
        "zip.npz": "zip archive",
        "array.npy": "array of NumPy",
        "pickle": "pickle",
        "table.csv": "text",
        "model.onnx": "ONNX",
        "empty": "empty",
        "noise": "no model file",
    }
    for name, word in words.items():
        with pytest.raises(ValueError, match=f"{name}: .*{word}"):
            pursuit.load(tmp_path / name)


def test_a_newer_format_asks_for_an_update(small):
    content = dumps(small[0])
    newer = content[:8] + struct.pack("<I", 2) + content[12:]
    with pytest.raises(ValueError, match="update pursuit"):
        loads(newer)


# -- what is refused ---------------------------------------------------------------


def double(X):
    return 2.0 * X


def similarity(X, Y):
    return X @ Y.T


class MyLoss(losses.Squared):
    """A loss of a user's own."""


class MyKernel(kernels.Gaussian):
    """A kernel of a user's own."""


def fitted(**parameters):
    X, y = waves(30)
    how = {"max_support": 2, "selection": FixedSize(2), "alpha": 1e-3}
    return KMPRegressor(**{**how, **parameters}).fit(X, y)


REFUSED = {
    r"KMPRegressor.parameters.kernel cannot .* 'similarity'": lambda: fitted(
        kernel=similarity
    ),
    r"KMPRegressor.parameters.kernel cannot .* MyKernel": lambda: fitted(
        kernel=MyKernel(1.0)
    ),
    r"KMPRegressor.parameters.loss cannot .* MyLoss": lambda: fitted(
        kernel="rbf", gamma=1.0, loss=MyLoss()
    ),
    r"KMPRegressor.parameters.dictionary cannot .* Callables": lambda: fitted(
        dictionary=dictionaries.Callables([double])
    ),
    r"dictionary.transformer.parameters.func cannot .* 'double'": lambda: fitted(
        dictionary=dictionaries.Transformed(FunctionTransformer(double).fit([[1.0]]))
    ),
    r"selection.scoring cannot .* '<lambda>'": lambda: KMPRegressor(
        selection=CrossValidation(scoring=lambda model, X, y: 0.0)
    ),
    r"HKNNClassifier.parameters.search cannot .* SVC": lambda: HKNNClassifier(
        search=SVC()
    ),
    r"Pipeline cannot .* memory=None": lambda: Pipeline(
        [("model", KMPRegressor())], memory="cache"
    ),
    r"Pipeline.steps\[0\]\[1\] cannot .* SVC": lambda: make_pipeline(SVC()),
    r"random_state cannot .* Generator": lambda: KMPRegressor(
        random_state=np.random.default_rng(0)
    ),
    r"GridSearchCV cannot .* a search, GridSearchCV: save its best_estimator_": (
        lambda: GridSearchCV(fitted(), {"alpha": [1e-3]}, cv=2).fit(*waves(30))
    ),
    r"func cannot .* 'expit'": lambda: FunctionTransformer(expit),
    r"func cannot .* 'add'": lambda: FunctionTransformer(np.add),
    r"FunctionTransformer cannot .* kw_args": lambda: FunctionTransformer(
        np.log, kw_args={"dtype": float}
    ).fit([[1.0]]),
    r"dtype cannot .* the class MyLoss": lambda: KMPRegressor(dtype=MyLoss),
}


@pytest.mark.parametrize("pattern", REFUSED, ids=lambda p: p[:40])
def test_code_of_users_is_refused_by_name(pattern, tmp_path):
    model = REFUSED[pattern]()
    with pytest.raises(ValueError, match=pattern) as caught:
        pursuit.save(model, tmp_path / "model.pursuit")
    assert "joblib.dump" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [None, 3, [1], {"a": 1}, np.zeros(3)])
def test_only_estimators_are_saved(model, tmp_path):
    with pytest.raises(TypeError, match="must be an estimator"):
        pursuit.save(model, tmp_path / "model.pursuit")


def test_kernels_that_are_nested_too_deeply(tmp_path):
    kernel = kernels.Gaussian(1.0)
    for _ in range(container.MAX_DEPTH):
        kernel = kernel + kernels.Linear()
    with pytest.raises(ValueError, match="nested"):
        pursuit.save(KMPRegressor(kernel), tmp_path / "model.pursuit")


# -- imports -----------------------------------------------------------------------


def test_loading_imports_the_family_of_the_model_only(tmp_path, small):
    """A KMP model does not load densities, neighbors or matplotlib."""
    path = tmp_path / "model.pursuit"
    small[0].save(path)
    code = (
        "import sys, pursuit; pursuit.load(sys.argv[1]);"
        "print([m for m in sys.modules if m in ("
        "'pursuit.densities', 'pursuit.neighbors', 'matplotlib', 'onnx')])"
    )
    run = [sys.executable, "-c", code, str(path)]
    out = subprocess.run(run, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
