"""A hostile file is refused with a ValueError, or is a model: never more than that."""

import copy
import json
import re
import tracemalloc

import numpy as np
import pytest
from mutations import DIGITS, START, Mutator, outcome, packed, parts_of, repaired
from saved_models import MODELS

from pursuit import HKNNRegressor
from pursuit.files import container, dumps, loads

# A hundred thousand: benchmarks/bench_files.py.
N_MUTATIONS = 2000


@pytest.fixture(scope="module")
def sound():
    """Sound files of all models, and rows at which these answer."""
    made = [make() for make in MODELS.values()]
    return [dumps(model) for model, _ in made], [X[:4] for _, X in made]


@pytest.fixture(scope="module")
def one(sound):
    """The file of a classifier with labels that are words."""
    content = sound[0][list(MODELS).index("classes")]
    return (*parts_of(content), content)


def test_mutations(sound):
    contents, rows = sound
    assert {outcome(c, X) for c, X in zip(contents, rows, strict=True)} == {"answers"}
    mutator = Mutator(contents, seed=0)
    outcomes = []
    for _ in range(N_MUTATIONS):
        _, number, content = mutator.one()
        outcomes.append(outcome(content, rows[number]))
    counts = {name: outcomes.count(name) for name in set(outcomes)}
    # Mutations that reach beyond the first check, and some that do not matter.
    assert counts["refused"] > 0.5 * N_MUTATIONS
    assert counts["answers"] > 0.05 * N_MUTATIONS


def test_every_bit_of_the_first_bytes_counts(one):
    content = one[2]
    for place in range(DIGITS.stop):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            with pytest.raises(ValueError):
                loads(bytes(changed))


def test_every_cut_is_noticed(one):
    content = one[2]
    for end in range(0, len(content), 7):
        for cut in (content[:end], repaired(content[:end])):
            with pytest.raises(ValueError):
                loads(cut)


def test_without_repair_the_checksum_notices(one):
    content = bytearray(one[2])
    content[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        loads(bytes(content))
    loads(repaired(bytes(content)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"model":', b'"model":null,"model":', "twice"),
        (b'"gamma":1.0', b'"gamma":NaN', "NaN is not JSON"),
        (b'"gamma":1.0', b'"gamma":-Infinity', "Infinity is not JSON"),
        (b'"gamma":1.0', b'"gamma":1e999', "too large"),
        (b'"gamma":1.0', b'"gamma":' + b"1" * 5000, "digits"),
        (b'"gamma":1.0', b'"gamma":' + b"[" * 99_999 + b"]" * 99_999, "nested"),
        (b'"gamma":1.0', b'"gamma":' + b"[" * 150 + b"]" * 150, "finite number"),
        (b'"gamma":1.0', b'"gamma":"\\ud800"', "gamma"),
        (b'{"sha256":', b'{"SHA256":', "checksum"),
        (b'"about":{', b'"about":[{', "JSON"),
        (b'"formula":', b'"other":', "member"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_text_of_the_header(one, old, new, message):
    content = one[2]
    text = content[START : len(content) - len(one[1])].rstrip()
    assert old in text
    # The last one of the model.
    at = text.rindex(old, 0, text.index(b'"formula"') + 10)
    changed = text[:at] + new + text[at + len(old) :]
    with pytest.raises(ValueError, match=message):
        loads(packed(changed, one[1]))


def refusal(one, change):
    """Return the message with which a changed header is refused."""
    header = copy.deepcopy(one[0])
    change(header)
    with pytest.raises(ValueError) as caught:
        loads(packed(header, one[1]))
    return str(caught.value)


@pytest.mark.parametrize(
    "shape", [[-1], [1 << 62], [1.5], [None], ["3"], [True], 3, None, [[3]], [1] * 99]
)
def test_shapes_that_cannot_be(one, shape):
    message = refusal(one, lambda h: h["arrays"][0].update(shape=shape))
    assert "Array 0 has the shape" in message


@pytest.mark.parametrize("dtype", ["|O8", "<U4", ">f8", "|V8", "<c16", "", None, 8])
def test_types_that_cannot_be(one, dtype):
    message = refusal(one, lambda h: h["arrays"][0].update(dtype=dtype))
    assert "Array 0 has the type" in message


@pytest.mark.parametrize("offset", [-8, 8, 1, 1 << 62, 0.0, None, "0"])
def test_offsets_that_cannot_be(one, offset):
    message = refusal(one, lambda h: h["arrays"][0].update(offset=offset))
    assert "Array 0 does not follow" in message


def test_large_promises_reserve_no_memory(one):
    tracemalloc.start()
    try:
        for shape in ([1 << 39], [1 << 20, 1 << 19], [1 << 39, 0], [1 << 40, 1 << 40]):
            refusal(one, lambda h, s=shape: h["arrays"][0].update(shape=s))
        refusal(one, lambda h: h.update(bytes=1 << 50))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "subprocess.Popen",
        "kernels.FunctionKernel",
        "dictionaries.Callables",
        "sklearn.SVC",
        "kmp.BaseKMP",
        "kmp.KMPClassifier.fit",
        "../kernels.Gaussian",
        "",
        None,
        ["kernels.Gaussian"],
    ],
)
def test_unknown_types(one, name):
    def change(header):
        header["model"]["fitted"]["loss"]["type"] = name

    assert "does not know" in refusal(one, change)


def fitted(**changes):
    """Return a change of what a fit has left."""
    return lambda header: header["model"]["fitted"].update(changes)


def function(**changes):
    """Return a change of the functions of the model."""
    return lambda header: header["model"]["fitted"]["functions"].update(changes)


def kernel(**changes):
    """Return a change of the kernel of the functions."""
    return lambda h: h["model"]["fitted"]["functions"]["kernel"].update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (kernel(gamma={"float": "nan"}), "gamma=nan"),
        (kernel(gamma=-1.0), "gamma=-1.0"),
        (kernel(gamma="median"), "gamma='median'"),
        (kernel(gamma=None), "gamma=None"),
        (kernel(type="kernels.Linear"), "unknown fields: gamma"),
        (kernel(width=3), "unknown fields: width"),
        (kernel(type="losses.Softmax", gamma=1.0), "unknown fields"),
        (function(kernel=3), "not one of pursuit.kernels"),
        (function(points={"array": 0}), "points of functions.Kernels"),
        (function(points=[[1.0, 2.0]]), "points of functions.Kernels"),
        (function(on_rows=1), "on_rows of functions.Kernels"),
        (fitted(n_features_in_=3), "need 2 columns, the model 3"),
        (fitted(n_features_in_=-2), "n_features_in_"),
        (fitted(n_features_in_=True), "n_features_in_"),
        (fitted(sizes=[99]), "sizes .* not on the path"),
        (fitted(sizes=[-1]), "sizes .* not on the path"),
        (fitted(sizes=[]), "sizes .* not on the path"),
        (fitted(sizes=[0]), "coef .* has a length"),
        (fitted(classes={"array": 0}), "classes"),
        (fitted(classes=["no", "yes"]), "classes"),
        (fitted(coef=None), "coef"),
        (fitted(importances={"array": 0}), "importances"),
        (fitted(loss={"type": "losses.Poisson"}), "not for classes"),
        (fitted(loss="squared"), "not one of pursuit.losses"),
        (fitted(framer={"type": "functions.Framer"}), "lacks library"),
        (
            fitted(framer={"type": "functions.Framer", "library": "os", "names": []}),
            "library of functions.Framer",
        ),
        (fitted(path=None), "path"),
        (fitted(search=3), "search"),
        (fitted(more=3), "unknown fields: more"),
        (lambda h: h["model"]["fitted"].pop("loss"), "lacks loss"),
        (lambda h: h["model"]["parameters"].update(more=3), "no parameters more"),
        (lambda h: h["model"].update(parameters=[]), "parameters"),
        (lambda h: h["model"].pop("type"), "holds no model"),
        (lambda h: h.update(model=None), "holds no model"),
        (lambda h: h.update(model={"type": "kernels.Linear"}), "holds no model"),
        (lambda h: h.update(about=None), "about"),
        (lambda h: h.update(arrays={}), "arrays"),
    ],
)
def test_meanings(one, change, message):
    assert re.search(message, refusal(one, change))


def changed_numbers(content, name, value):
    """Return a file with one number of an array changed, by the array's key."""
    header, data = parts_of(content)
    (number,) = {
        node[name]["array"]
        for node in nodes(header["model"])
        if isinstance(node.get(name), dict) and "array" in node[name]
    }
    entry, data = header["arrays"][number], bytearray(data)
    dtype = np.dtype(entry["dtype"])
    array = np.frombuffer(data, dtype, int(np.prod(entry["shape"])), entry["offset"])
    array[0] = value
    return packed(header, bytes(data))


def nodes(tree):
    """Yield all objects of a tree."""
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(item, dict | list):
            yield from nodes(item)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("many_widths", "place", 1 << 40),
        ("many_widths", "place", -1),
        ("many_widths", "gammas", np.nan),
        ("oriented", "variances", -1.0),
        ("oriented", "directions", np.inf),
        ("features", "order", 1 << 40),
        ("sparse_rows", "indices", 99),
        ("sparse_rows", "indptr", 1),
        ("chosen_size", "triangle", 0.0),
        ("chosen_size", "atoms", -5),
        ("manifold_parzen", "neighbors", 60),
        ("manifold_parzen", "neighbors", -1),
        ("manifold_parzen", "weights", np.nan),
        ("manifold_parzen", "counts", 0.0),
        ("hknn", "codes", 2),
        ("hknn", "rows", 60),
        ("hknn", "points", np.nan),
        ("hknn_regressor", "exponents", 1 << 20),
        ("components", "triangle", 0.0),
        ("smoother", "weights", -1.0),
    ],
)
def test_what_compiled_loops_rely_on(sound, model, name, value):
    """Indices and sizes: loops do not check them."""
    content = sound[0][list(MODELS).index(model)]
    with pytest.raises(ValueError, match=name):
        loads(changed_numbers(content, name, value))


def test_a_booleans_byte(one):
    header, data = parts_of(one[2])
    entry = {"dtype": "|b1", "shape": [8], "offset": len(data)}
    header["arrays"].append(entry)
    header["bytes"] += 8
    loads(packed(header, data + b"\x01\x00" * 4))
    with pytest.raises(ValueError, match="Booleans"):
        loads(packed(header, data + b"\x02\x00" * 4))


def test_memory_is_at_most_twice_what_the_header_admits():
    """The arrays of the model are the file's bytes."""
    n = 200_000
    points = np.random.default_rng(0).standard_normal((n, 2))
    model = {"type": "kmp.KMPRegressor", "parameters": {"metric": {"array": 0}}}
    content = container.pack({**model, "fitted": None}, None, {}, [points])
    tracemalloc.start()
    try:
        loaded = loads(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(loaded.metric, points)
    assert peak < 1.5 * len(content)


def test_a_search_takes_its_points_once_more():
    X = np.random.default_rng(0).standard_normal((20_000, 20))
    content = dumps(HKNNRegressor(5, 0.01).fit(X, X[:, 0]))
    loads(content)  # names are loaded, loops compiled
    tracemalloc.start()
    try:
        loaded = loads(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert loaded.n_features_in_ == 20
    assert peak < 2.2 * len(content)


def test_arrays_that_are_named_often_are_one_array():
    array = np.zeros(100_000)
    many = {"array": 0}
    parameters = {"metric": [many] * 1000}
    model = {"type": "kmp.KMPRegressor", "parameters": parameters, "fitted": None}
    loaded = loads(container.pack(model, None, {}, [array]))
    assert len({id(item) for item in loaded.metric}) == 1


def test_headers_are_text_that_other_languages_read(sound):
    for content in sound[0]:
        header, data = parts_of(content)
        assert content[START:].startswith(b'{"sha256":"')
        assert len(content) == START + len(content[START : -len(data)]) + len(data)
        assert json.dumps(header, allow_nan=False)
        for entry in header["arrays"]:
            assert entry["offset"] % 8 == 0
