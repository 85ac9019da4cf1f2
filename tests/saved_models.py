"""Small fitted models of every family, on data made on the spot, for files of models.

``MODELS[name]()`` returns a model and rows at which it answers.
"""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.datasets import make_blobs, make_moons
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pursuit import (
    CKNNClassifier,
    CondensedNeighbors,
    CrossValidation,
    DensityClassifier,
    DensityOutlierDetector,
    DropNeighbors,
    EditedNeighbors,
    FixedSize,
    HKNNClassifier,
    HKNNRegressor,
    KernelCentroidClassifier,
    KMPClassifier,
    KMPRanker,
    KMPRegressor,
    LearnedMetric,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
    PrototypePursuit,
    SparseKernelCCA,
    SparseKernelPCA,
    SparseManifoldParzen,
    SubspaceOutlierDetector,
    dictionaries,
    kernels,
)
from pursuit.losses import Quantile
from pursuit.neighbors import ImageTangents

ANSWERS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
)


def moons(n=60):
    return make_moons(n, noise=0.2, random_state=0)


def waves(n=60):
    """Rows of two features, and a smooth target."""
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]


def people(n=60):
    """A frame with numbers, missing ones, and words; and a target."""
    rng = np.random.default_rng(0)
    X, y = waves(n)
    age = np.where(rng.random(n) < 0.1, np.nan, X[:, 0])
    town = np.array(["Bonn", "Oslo", "Ürümqi"], dtype=object)[rng.integers(0, 3, n)]
    size = np.array(["S", "M", "L"], dtype=object)[rng.integers(0, 3, n)]
    frame = pd.DataFrame({"age": age, "pay": X[:, 1], "town": town, "size": size})
    return frame, y


def answers(model, X):
    """Return what a model answers at rows: arrays by the name of the method."""
    found = {}
    for name in ANSWERS:
        if hasattr(model, name):
            values = getattr(model, name)(X)
            values = values.toarray() if sparse.issparse(values) else values
            found[name] = np.asarray(values)
    for name in ("predict_interval", "predict_set"):
        if getattr(model, "_folds", None) and hasattr(model, name):
            found[name] = getattr(model, name)(X, 0.5)[1]
    return found


def _kmp(kind=KMPRegressor, **parameters):
    how = {"max_support": 5, "selection": FixedSize(2), "alpha": 1e-3, "gamma": 1.0}
    return kind("rbf", **{**how, **parameters})


def _classes():
    X, y = moons()
    labels = np.array(["no", "yes"])[y]
    return _kmp(KMPClassifier, loss="logistic").fit(X, labels), X


def _chosen_size():
    X, y = waves()
    return _kmp(selection="loo", max_support=9).fit(X, y), X


def _intervals():
    X, y = waves(30)
    return _kmp(selection=CrossValidation(3)).fit(X, y), X


def _quantiles():
    X, y = waves(30)
    loss = Quantile([0.2, 0.8])
    return _kmp(selection=CrossValidation(3), loss=loss).fit(X, y), X


def _calibrated(**parameters):
    def make():
        X, y = make_blobs(45, centers=3, cluster_std=3.0, random_state=0)
        folds = CrossValidation(3)
        return _kmp(KMPClassifier, selection=folds, **parameters).fit(X, y), X

    return make


def _three_classes():
    X, y = make_blobs(60, centers=3, random_state=0)
    return _kmp(KMPClassifier, multiclass="ovr").fit(X, y), X


def _learned():
    X, y = moons(50)
    factor = np.array([[1.0, 0.2], [0.1, 2.0]])
    kernel = kernels.InMetric(kernels.Gaussian(0.5), factor)
    return KMPClassifier(kernel, max_support=4, selection=None, alpha=1e-3).fit(X, y), X


def _ranker():
    X, y = waves()
    how = {"loss": "logistic", "selection": CrossValidation(3)}
    grades, groups = np.digitize(y, [-0.5, 0.5]), np.arange(60) % 6
    return _kmp(KMPRanker, **how).fit(X, grades, groups=groups), X


def _sums():
    X, y = waves()
    kernel = 2.0 * kernels.Matern(2.5, 1.0) * kernels.Laplacian(0.2) + 1.0
    kernel = kernel + kernels.Polynomial(2, 0.5, 1.0)
    return KMPRegressor(kernel, max_support=4, selection=None, alpha=1e-3).fit(X, y), X


def _dictionary(dictionary):
    def make():
        X, y = moons()
        model = KMPClassifier(
            dictionary=dictionary, max_support=5, selection=None, alpha=1e-3
        )
        return model.fit(X, y), X

    return make


def _sparse_rows():
    X, y = waves()
    X = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    return _kmp().fit(X, y), X


def _matrix():
    X, y = waves(30)
    K = kernels.Gaussian(1.0)(X, X)
    model = KMPRegressor("precomputed", max_support=4, selection=None, alpha=1e-3)
    return model.fit(K, y), K


def _table(encoder, **more):
    def make():
        frame, y = people()
        numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
        columns = ColumnTransformer(
            [
                ("numbers", numbers, ["age", "pay"]),
                ("words", encoder, ["town", "size"]),
            ],
            **more,
        )
        return make_pipeline(columns, _kmp()).fit(frame, y), frame

    return make


def _selected():
    frame, y = people()
    numbers = make_column_selector(dtype_include=np.number)
    columns = ColumnTransformer([("numbers", SimpleImputer(), numbers)])
    steps = QuantileTransformer(n_quantiles=9), PowerTransformer()
    return make_pipeline(columns, *steps, _kmp()).fit(frame, y), frame


def _every_scaler():
    X, y = waves()
    X[::7, 0] = np.nan
    steps = (
        SimpleImputer(strategy="median"),
        StandardScaler(),
        RobustScaler(),
        MaxAbsScaler(),
        MinMaxScaler(clip=True),
        PolynomialFeatures(2, include_bias=False),
        FunctionTransformer(),
        Normalizer(),
    )
    return make_pipeline(*steps, _kmp()).fit(X, y), X


def _scaled():
    X, y = waves()
    X[::7, 0] = np.nan
    return make_pipeline(SimpleImputer(), StandardScaler(), _kmp()).fit(X, y), X


def _union():
    X, y = waves()
    parts = [
        ("pca", make_pipeline(StandardScaler(), PCA(1, whiten=True))),
        ("svd", TruncatedSVD(1, random_state=0)),
        ("rest", "passthrough"),
        ("none", "drop"),
    ]
    union = FeatureUnion(parts, transformer_weights={"svd": 2.0})
    return make_pipeline(union, _kmp()).fit(X, y), X


def _target(**parameters):
    def make():
        X, y = waves()
        model = TransformedTargetRegressor(_kmp(), **parameters)
        return model.fit(X, np.exp(y)), X

    return make


def _images():
    X, y = make_blobs(40, n_features=4, centers=2, random_state=0)
    tangents = ImageTangents((2, 2), kinds=["horizontal shift", "scaling"])
    return HKNNClassifier(3, tangents=tangents).fit(X, y), X


def _of_classes(model):
    def make():
        X, y = moons()
        return model.fit(X, y), X

    return make


def _keeping(selector):
    """A classifier that holds a fitted selector among its parameters."""

    def make():
        X, y = moons()
        return CKNNClassifier(4, reference=selector.fit(X, y)).fit(X, y), X

    return make


def _of_numbers(model):
    def make():
        X, y = waves()
        return model.fit(X, y), X

    return make


def _of_rows(model):
    def make():
        X, _ = moons()
        return model.fit(X), X

    return make


def _views():
    X, y = waves()
    return SparseKernelCCA(2, max_support=5).fit(X, np.c_[y, y**2]), X


MODELS = {
    "classes": _classes,
    "ranker": _ranker,
    "chosen_size": _chosen_size,
    "intervals": _intervals,
    "quantiles": _quantiles,
    "temperature": _calibrated(probability="temperature"),
    "isotonic": _calibrated(probability="isotonic", multiclass="ovr"),
    "three_classes": _three_classes,
    "learned_metric_kernel": _learned,
    "sums_of_kernels": _sums,
    "many_widths": _dictionary(dictionaries.ManyWidths(gamma=1.0)),
    "oriented": _dictionary(dictionaries.OrientedGaussians(gamma=1.0)),
    "features": _dictionary(
        dictionaries.Features(degree=2) + dictionaries.OneKernel(gamma=1.0)
    ),
    "transformed": _dictionary(dictionaries.Transformed(StandardScaler())),
    "sparse_rows": _sparse_rows,
    "matrix": _matrix,
    "one_hot": _table(OneHotEncoder(handle_unknown="ignore")),
    "one_hot_rare": _table(
        OneHotEncoder(min_frequency=21, handle_unknown="infrequent_if_exist")
    ),
    "ordinal": _table(OrdinalEncoder(), remainder="passthrough"),
    "selected": _selected,
    "every_scaler": _every_scaler,
    "scaled": _scaled,
    "union": _union,
    "scaled_target": _target(transformer=StandardScaler()),
    "logarithm_of_target": _target(func=np.log, inverse_func=np.exp),
    "images": _images,
    "hknn": _of_classes(HKNNClassifier(5)),
    "cknn": _of_classes(CKNNClassifier(4)),
    "prototypes": _of_classes(HKNNClassifier(5, reference=PrototypePursuit(12))),
    "chosen_prototypes": _keeping(PrototypePursuit(9, n_neighbors=3)),
    "condensed": _keeping(CondensedNeighbors()),
    "edited": _keeping(EditedNeighbors()),
    "dropped": _keeping(DropNeighbors()),
    "hknn_regressor": _of_numbers(HKNNRegressor(5, 0.01)),
    "parzen": _of_rows(ParzenWindows()),
    "manifold_parzen": _of_rows(ManifoldParzen(4, bandwidth=0.1)),
    "sparse_parzen": _of_rows(SparseManifoldParzen(6, n_neighbors=[4, 8])),
    "local_density": _of_rows(LocalGaussianDensity(0.5, 0.1)),
    "density_classifier": _of_classes(DensityClassifier(ParzenWindows())),
    "outliers": _of_rows(DensityOutlierDetector(ParzenWindows(0.2))),
    "smoother": _of_numbers(NadarayaWatson(gamma=2.0)),
    "centroids": _of_classes(KernelCentroidClassifier(gamma=2.0)),
    "components": _of_rows(SparseKernelPCA(4, gamma=1.0)),
    "novelty": _of_rows(SubspaceOutlierDetector(SparseKernelPCA(4, gamma=1.0))),
    "views": _views,
    "metric": _of_classes(LearnedMetric("diagonal", n_rounds=1, max_support=5)),
}
