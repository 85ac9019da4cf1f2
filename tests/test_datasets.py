"""Tests of the data sets: the real files where present, made-up ones elsewhere."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch

from pursuit import datasets
from pursuit.datasets import _openml

SHAPES = {
    "a9a": (48842, 123),
    "adult": (48842, 108),
    "banana": (5300, 2),
    "boston": (506, 13),
    "breast_cancer": (277, 9),
    "california": (20640, 8),
    "covtype": (581012, 54),
    "heart": (270, 13),
    "ionosphere": (351, 34),
    "mfeat": (2000, 649),
    "mnist": (70000, 784),
    "mushrooms": (8124, 117),
    "nutrimouse": (40, 141),
    "pima": (768, 8),
    "ripley": (1250, 2),
    "sonar": (208, 60),
    "thyroid": (215, 5),
    "titanic": (2201, 3),
    "usps": (9298, 256),
    "waveform": (5000, 21),
    "wisconsin": (699, 9),
}
PARTS = {"a9a": 32561, "adult": 32561, "mnist": 60000, "ripley": 250, "usps": 7291}
IDA = ["banana", "breast_cancer", "heart", "thyroid", "titanic", "waveform"]
REGRESSION = ["boston", "california"]


def load_or_skip(name, **options):
    if name not in datasets.available():
        pytest.skip(f"the file of {name!r} is absent; set PURSUIT_DATA to its folder")
    return datasets.load(name, **options)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, the only one that is looked in."""
    monkeypatch.setenv("PURSUIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture(scope="module", params=SHAPES)
def loaded(request):
    return request.param, load_or_skip(request.param)


def save(folder, name="sonar", **changes):
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {"X": np.eye(4), "y": np.array([0, 0, 1, 1], np.uint8), **changes}
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    return folder / f"{name}.npz"


# The real files


def test_names_are_those_tested():
    assert datasets.names() == sorted(SHAPES)


def test_shapes_and_types(loaded):
    name, bunch = loaded
    assert bunch.data.shape == SHAPES[name]
    assert bunch.target.shape == SHAPES[name][:1]
    assert bunch.data.dtype.kind == "f"
    assert bunch.target.dtype == (np.float64 if name in REGRESSION else np.int64)
    assert bunch.DESCR


def test_columns_and_classes_have_names(loaded):
    name, bunch = loaded
    assert len(set(bunch.feature_names)) == len(bunch.feature_names) == SHAPES[name][1]
    if name not in REGRESSION:
        assert len(bunch.target_names) == len(np.unique(bunch.target))


def test_splits_are_partitions(loaded):
    name, bunch = loaded
    assert bool(bunch.splits) == (name in PARTS or name in IDA)
    for train, test in bunch.splits:
        rows = np.sort(np.concatenate([train, test]))
        np.testing.assert_array_equal(rows, np.arange(len(bunch.target)))


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_the_split(name):
    bunch = load_or_skip(name)
    train, test = bunch.splits[0]
    assert len(train) == len(bunch.target_train) == PARTS[name]
    assert bunch.data_train.shape[0] == PARTS[name]
    assert (bunch.data_test != bunch.data[test]).sum() == 0
    np.testing.assert_array_equal(bunch.target_test, bunch.target[test])


@pytest.mark.parametrize("name", IDA)
def test_ida_names(name):
    bunch = load_or_skip(name)
    np.testing.assert_array_equal(datasets.load(f"ida_{name}").data, bunch.data)
    assert bunch.official_splits == (name != "thyroid")
    assert set(bunch.target) == {-1, 1}


def test_smoothed_images_have_the_nearest_neighbor_of_the_papers():
    raw = load_or_skip("usps")
    smooth = datasets.load("usps", smooth=True)
    # Table 11.1: 4.98 % for one neighbor, 5.63 % on the images as they are.
    counts = []
    for usps in (raw, smooth):
        model = KNeighborsClassifier(1).fit(usps.data_train, usps.target_train)
        wrong = model.predict(usps.data_test) != usps.target_test
        counts.append(wrong.sum())
    assert counts == [113, 100]
    np.testing.assert_array_equal(
        smooth.data[: len(smooth.data_train)], smooth.data_train
    )
    np.testing.assert_array_equal(smooth.target, raw.target)


def test_smoothing_leaves_a_bare_background_and_spreads_a_point(folder):
    X = np.full((2, 256), -1.0)
    X[1, 16 * 8 + 8] = 1.0
    half = {"X_train": X, "y_train": [0, 1], "X_test": X[:0], "y_test": []}
    save(folder, "usps", **{key: np.array(value) for key, value in half.items()})
    blank, point = datasets.load("usps", smooth=True).data.reshape(2, 16, 16)
    np.testing.assert_array_equal(blank, -1.0)
    assert (point + 1.0).sum() == pytest.approx(2.0)
    # The kernel of a Gaussian of 0.75 pixel, cut at four deviations.
    weights = np.exp(-0.5 * (np.arange(-3, 4) / 0.75) ** 2)
    assert point[8, 8] + 1.0 == pytest.approx(2.0 / weights.sum() ** 2)


@pytest.mark.parametrize("name", ["sonar", "tables/any", "mnist"])
def test_other_sets_have_no_images_to_smooth(folder, name):
    with pytest.raises(ValueError, match=f"smooth=True is for .*usps.*'{name}'"):
        datasets.load(name, smooth=True)
    with pytest.raises(ValueError, match="smooth='yes' must be True or False"):
        datasets.load(name, smooth="yes")


def test_splits_serve_as_cv():
    bunch = load_or_skip("ripley")
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    assert cross_val_score(tree, bunch.data, bunch.target, cv=bunch.splits) > 0.8


def test_published_counts():
    usps = load_or_skip("usps")
    assert np.bincount(usps.target_test)[:3].tolist() == [359, 264, 198]
    assert (usps.data.min(), usps.data.max()) == (-1, 1)


def test_missing_values_are_nan():
    wisconsin = load_or_skip("wisconsin")
    assert np.isnan(wisconsin.data).sum(axis=0).tolist() == [0] * 5 + [16] + [0] * 3
    assert len(wisconsin.ids) == 699


def test_a9a_is_sparse_and_agrees_with_adult():
    a9a, adult = load_or_skip("a9a"), load_or_skip("adult")
    assert sparse.issparse(a9a.data)
    assert a9a.data_train.nnz == 451592
    np.testing.assert_array_equal(a9a.target > 0, adult.target)


@pytest.mark.parametrize("name, n_numeric", [("mushrooms", 0), ("adult", 6)])
def test_one_hot_agrees_with_codes(name, n_numeric):
    hot, coded = load_or_skip(name), load_or_skip(name, one_hot=False)
    start = n_numeric
    assert hot.feature_names[:start] == coded.feature_names[:start]
    np.testing.assert_array_equal(hot.data[:, :start], coded.data[:, :start])
    for j, (column, values) in enumerate(hot.categories.items(), start=n_numeric):
        assert coded.feature_names[j] == column
        block = hot.data[:, start : start + len(values)]
        assert set(block.sum(axis=1)) == {1.0}
        np.testing.assert_array_equal(block.argmax(axis=1), coded.data[:, j])
        assert hot.feature_names[start] == f"{column}={values[0]}"
        start += len(values)
    assert start == hot.data.shape[1]


@pytest.mark.parametrize(
    "name, view, width", [("mfeat", "kar", 64), ("nutrimouse", "lipid", 21)]
)
def test_views_lie_side_by_side(name, view, width):
    bunch = load_or_skip(name)
    assert bunch.views[view].shape == (len(bunch.target), width)
    np.testing.assert_array_equal(np.hstack(list(bunch.views.values())), bunch.data)


# Files that are absent, elsewhere or damaged


def test_unknown_name_suggests_a_known_one():
    with pytest.raises(ValueError, match="unknown data set 'sonnar'.*'sonar'"):
        datasets.load("sonnar")


def test_missing_file_says_where_it_was_looked_for(folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("titanic")
    message = str(caught.value)
    assert "ida_titanic.npz" in message
    assert str(folder) in message
    assert ".pursuit_data (no such folder)" in message
    assert "PURSUIT_DATA (it is set)" in message
    assert datasets.available() == []


def test_missing_file_without_the_variable(folder, monkeypatch):
    monkeypatch.delenv("PURSUIT_DATA")
    with pytest.raises(FileNotFoundError, match=r"PURSUIT_DATA \(it is not set\)"):
        datasets.load("sonar")


def test_folders_are_taken_in_order(folder):
    save(folder.parent / "home" / ".pursuit_data")
    assert datasets.available() == ["sonar"]
    assert datasets.load("sonar").data.shape == (4, 4)
    save(folder, X=np.ones((4, 2)))
    assert datasets.load("sonar").data.shape == (4, 2)


def test_tables_are_read_from_their_folder(folder):
    assert datasets.tables() == []
    save(folder / "tables", "wine", X=np.eye(4, dtype=np.float32), y=np.arange(4.0))
    save(folder / "tables", "heart")
    save(folder.parent / "home" / ".pursuit_data" / "tables", "wine")
    assert datasets.tables() == ["tables/heart", "tables/wine"]
    assert datasets.available() == []
    bunch = datasets.load("tables/wine")
    assert bunch.data.dtype == bunch.target.dtype == np.float64
    assert datasets.load("tables/heart").target.dtype == np.int64
    with pytest.raises(FileNotFoundError, match="tables/iris.npz.*cannot|not among"):
        datasets.load("tables/iris")


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not an archive", b"\x93NUMPY\x01\x00"]
)
def test_other_content_is_refused(folder, content):
    (folder / "sonar.npz").write_bytes(content)
    with pytest.raises(OSError, match="sonar.npz is not a sound copy"):
        datasets.load("sonar")


@pytest.mark.parametrize("size", [0.1, 0.5, 0.9, 0.99])
def test_truncated_file_is_refused(folder, size):
    path = save(folder)
    content = path.read_bytes()
    path.write_bytes(content[: int(size * len(content))])
    with pytest.raises(OSError, match="sonar.npz is not a sound copy"):
        datasets.load("sonar")


def test_flipped_bytes_never_escape_as_another_error(folder):
    path = save(folder)
    content = path.read_bytes()
    for i in range(len(content)):
        path.write_bytes(content[:i] + bytes([content[i] ^ 0xFF]) + content[i + 1 :])
        try:
            assert datasets.load("sonar").data.shape[0] == 4
        except OSError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.eye(3)},
        {"X": np.arange(4.0)},
        {"X": np.empty((0, 2)), "y": np.empty(0)},
        {"X": np.array([["a"]] * 4)},
        {"X": np.array([[object()]] * 4)},
    ],
    ids=["rows differ", "one dimension", "no rows", "text", "pickled"],
)
def test_unfit_arrays_are_refused(folder, changes):
    save(folder, **changes)
    with pytest.raises(OSError, match="sonar.npz is not a sound copy"):
        datasets.load("sonar")


NOT_FINITE = {
    "no value": ("sonar", {"X": np.full((4, 2), np.nan)}),
    "one value": ("boston", {"X": np.array([[1.0], [2.0], [np.inf], [4.0]])}),
    "a target": ("boston", {"y": np.array([1.0, np.nan, 3.0, 4.0])}),
    "infinite among missing": ("wisconsin", {"X": np.array([[np.nan, -np.inf]] * 4)}),
}


@pytest.mark.parametrize("name, changes", NOT_FINITE.values(), ids=NOT_FINITE)
def test_values_that_are_not_finite_are_refused(folder, name, changes):
    save(folder, name, **changes)
    with pytest.raises(OSError, match=f"{name}.npz is not a sound copy.*not finite"):
        datasets.load(name)


def test_values_that_are_missing_by_nature_are_not(folder):
    save(folder, "wisconsin", X=np.array([[np.nan, 1.0]] * 4))
    assert np.isnan(datasets.load("wisconsin").data[:, 0]).all()


def test_lacking_array_is_named(folder):
    np.savez(folder / "sonar.npz", X=np.eye(4))
    with pytest.raises(OSError, match="sonar.npz is not a sound copy.*'?y"):
        datasets.load("sonar")


# Fetched from OpenML


def as_openml(name):
    """What OpenML would give for a set, made from the local file."""
    source = _openml.SOURCES[name]
    bunch = load_or_skip(name, one_hot=False)
    data, target = bunch.data, bunch.target
    words = {
        "ionosphere": ["b", "g"],
        "mushrooms": ["'e'", "'p'"],
        "pima": ["tested_negative", "tested_positive"],
        "sonar": ["Rock", "Mine"],
        "usps": [str(label) for label in range(1, 11)],
        "mnist": [str(label) for label in range(10)],
        "wisconsin": ["benign", "malignant"],
    }.get(name)
    columns, categories = [f"c{j}" for j in range(data.shape[1])], {}
    data = data.copy()
    if name == "mushrooms":
        for j, letters in enumerate(bunch.categories.values()):
            if "?" in letters:  # as missing values, and not among the categories
                unknown = data[:, j] == letters.index("?")
                data[:, j] -= data[:, j] > letters.index("?")
                data[unknown, j] = np.nan
                letters = [letter for letter in letters if letter != "?"]
            categories[columns[j]] = [f"'{letter}'" for letter in letters]
    if name == "boston":  # OpenML takes numbers of few values for categories
        values = np.unique(data[:, 8])[::-1]
        categories[columns[8]] = [f"{value:g}" for value in values]
        data[:, 8] = [list(values).index(value) for value in data[:, 8]]
    if words is not None:
        target = np.array([words[label] for label in target], dtype=object)
    return Bunch(
        data=data,
        target=target,
        feature_names=columns,
        categories=categories,
        details={"name": source.title.upper()},
    )


SMALL = [name for name in _openml.SOURCES if name != "mnist"]


@pytest.mark.parametrize("name", SMALL)
def test_a_fetched_set_is_the_local_one(name, monkeypatch, tmp_path):
    local, fetched = load_or_skip(name), as_openml(name)
    requests = []
    monkeypatch.setattr(
        _openml, "fetch_openml", lambda **request: requests.append(request) or fetched
    )
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path / "a", tmp_path / "b"])
    found = datasets.load(name)
    if name == "mushrooms":  # the letters of a column may stand in another order
        order = [found.data[:, j].sum() for j in range(found.data.shape[1])]
        assert sorted(order) == sorted(local.data.sum(axis=0))
    else:
        np.testing.assert_array_equal(found.data, local.data)
    np.testing.assert_array_equal(found.target, local.target)
    datasets.load(name)
    assert [r["data_id"] for r in requests] == [_openml.SOURCES[name].number]
    assert sorted(p.suffix for p in (tmp_path / "b").iterdir()) == [".npz", ".sha256"]
    assert not (tmp_path / "a").exists()


@pytest.fixture
def sonar_at_openml():
    rng = np.random.default_rng(0)
    return Bunch(
        data=rng.normal(size=(208, 60)),
        target=np.array(["Rock"] * 97 + ["Mine"] * 111, dtype=object),
        feature_names=[f"c{j}" for j in range(60)],
        categories={},
        details={"name": "sonar"},
    )


def test_a_fetched_file_that_changed_is_refused(folder, monkeypatch, sonar_at_openml):
    monkeypatch.setattr(_openml, "fetch_openml", lambda **request: sonar_at_openml)
    path = datasets.locate("sonar")
    assert datasets.load("sonar").data.shape == (208, 60)
    save(path.parent)
    with pytest.raises(OSError, match="changed since it was fetched"):
        datasets.load("sonar")


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"details": {"name": "sonata"}}, "sonata"),
        ({"data": np.zeros((208, 59))}, "shape"),
        ({"target": np.array(["Rock"] * 208, dtype=object)}, "classes"),
        ({"target": np.array(["Stone"] * 208, dtype=object)}, "stone"),
    ],
    ids=["name", "shape", "counts", "words"],
)
def test_another_set_is_not_taken_for_it(
    folder, monkeypatch, sonar_at_openml, change, reason
):
    fetched = Bunch(**{**sonar_at_openml, **change})
    monkeypatch.setattr(_openml, "fetch_openml", lambda **request: fetched)
    with pytest.raises(FileNotFoundError, match=f"OpenML.*{reason}"):
        datasets.load("sonar")
    assert not (folder.parent / "home").exists()


def test_without_network_the_message_says_what_to_do(folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("sonar")
    message = str(caught.value)
    assert "no network in tests" in message
    assert "sonar.npz" in message
    assert "Put the file into" in message
    assert str(folder) in message


def test_what_openml_lacks_is_not_asked_for(folder, monkeypatch):
    monkeypatch.setattr(_openml, "fetch_openml", None)
    with pytest.raises(FileNotFoundError, match="not among those that can be fetched"):
        datasets.load("titanic")


# Made data


def test_ripley_has_the_density_it_claims():
    X, y = datasets.make_ripley(20001, random_state=0)
    assert np.bincount(y).tolist() == [10000, 10001]
    side = np.linspace(-2.0, 2.0, 401)
    grid = np.stack(np.meshgrid(side, side + 0.5), axis=-1).reshape(-1, 2)
    mass = np.exp(datasets.ripley_log_density(grid)).sum(axis=0) * 0.01**2
    np.testing.assert_allclose(mass, 1.0, atol=1e-6)
    logs = datasets.ripley_log_density(X)
    posterior = np.exp(logs.min(axis=1) - np.logaddexp(*logs.T))
    error = posterior.std() / np.sqrt(len(X))
    assert abs(posterior.mean() - datasets.ripley_bayes_error()) < 3 * error


def test_ripley_is_the_published_mixture():
    bunch = load_or_skip("ripley")
    X, y = datasets.make_ripley(1250, random_state=1)
    for rows, labels in ((X, y), (bunch.data, bunch.target)):
        logs = datasets.ripley_log_density(rows)
        own = logs[np.arange(len(labels)), labels]
        # The entropy of either class is near 0; 1250 points tell it to some 0.03.
        assert abs(own.mean()) < 0.09
        assert 0.07 < np.mean(logs.argmax(axis=1) != labels) < 0.11


def test_strong_dimensions_are_strong():
    X = datasets.make_strong_dimensions(random_state=0)
    assert X.shape == (1000, 450)
    variances = X.var(axis=0)
    assert variances[:50].min() > 2 * variances[50:].max()
    flat = datasets.make_strong_dimensions(
        500, 5, n_strong=2, decay=0.0, strength=4.0, random_state=0
    )
    np.testing.assert_allclose(flat.var(axis=0), [4, 4, 1, 1, 1], rtol=0.3)


@pytest.mark.parametrize(
    "make",
    [datasets.make_ripley, datasets.make_interlocked, datasets.make_far_cluster],
)
def test_made_classes_hang_on_the_seed(make):
    X, y = make(random_state=3)
    again, _ = make(random_state=3)
    other, _ = make(random_state=4)
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, other)
    assert X.shape == (len(y), 2)
    assert set(y) == {0, 1}


def test_a_line_divides_the_classes_of_the_far_cluster():
    X, y = datasets.make_far_cluster(random_state=0)
    np.testing.assert_array_equal(X[:, 1] > 0, y == 1)


@pytest.mark.parametrize(
    "make, how, words",
    [
        *(
            (make, {name: wrong}, f"^{name}={wrong!r} must be a whole number of at l")
            for make, name in [
                (datasets.make_spiral, "n_samples"),
                (datasets.make_ripley, "n_samples"),
                (datasets.make_interlocked, "n_samples"),
                (datasets.make_strong_dimensions, "n_samples"),
                (datasets.make_strong_dimensions, "n_features"),
                (datasets.make_far_cluster, "n_upper"),
                (datasets.make_far_cluster, "n_lower"),
                (datasets.make_far_cluster, "n_far"),
                (datasets.ripley_bayes_error, "n_nodes"),
            ]
            for wrong in (-1, "a", 2.5, None, True)
        ),
        *(
            (make, {name: wrong}, f"^{name}={wrong!r} must be a finite number of at l")
            for make, name in [
                (datasets.make_spiral, "noise"),
                (datasets.make_interlocked, "noise"),
                (datasets.make_strong_dimensions, "decay"),
                (datasets.make_strong_dimensions, "strength"),
            ]
            for wrong in (-1, "a", np.inf, np.nan)
        ),
        (datasets.make_strong_dimensions, {"n_strong": 451}, "^n_strong=451 must be"),
        (
            lambda noise: datasets.spiral_log_density([[0.0, 0.0]], noise=noise),
            {"noise": 0.0},
            "^noise=0.0 must be a positive finite number",
        ),
    ],
)
def test_made_data_name_what_is_wrong(make, how, words):
    with pytest.raises(ValueError, match=words):
        make(**how)
