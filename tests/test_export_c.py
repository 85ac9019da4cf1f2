"""Models in C compute what the models do, on every compiler that is here."""

import re
import shutil
import subprocess
from dataclasses import dataclass, replace

import exported_models
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pursuit import KMPClassifier, KMPRegressor
from pursuit.export import UnsupportedError, formula_of, to_c
from pursuit.export.c.fixed.arithmetic import EXP_ABSOLUTE, EXP_RELATIVE, exponentials
from pursuit.export.c.mathematics import EXPONENTIAL_ERROR
from pursuit.export.c.typical import typical_rows
from pursuit.export.formula import (
    Answer,
    Combination,
    Comparison,
    Formula,
    KernelGroup,
    MonomialGroup,
)
from pursuit.export.steps import (
    Affine,
    Branches,
    Clip,
    Encode,
    Fill,
    Flag,
    Input,
    Linear,
    OneHot,
    Power,
    Quantiles,
    Take,
)

# Models of every kind are compiled, those too of which fixed point keeps few digits.
pytestmark = pytest.mark.filterwarnings("ignore:number='fixed' leaves values")

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion"]
STRICT += ["-Wshadow", "-Wundef"]
SANITIZED = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
# Command, kinds of numbers, and which cases: optimizing takes long, so that the two
# compilers share them.
BUILDS = {
    "gcc -O2": (["gcc", "-O2", *STRICT], ["float", "fixed"], slice(0, None, 2)),
    "clang -O2": (["clang", "-O2", *STRICT], ["double", "fixed_16"], slice(1, None, 2)),
    "gcc -O0 -m32": (
        ["gcc", "-O0", "-m32", *STRICT],
        ["float", "double_own", "fixed"],
        slice(None),
    ),
    "clang -O0, undefined behaviour": (
        ["clang", "-O0", *SANITIZED, *STRICT],
        ["float_own", "fixed_16"],
        slice(None),
    ),
    "g++ -O0": (
        ["g++", "-x", "c++", "-std=c++11", "-O0", "-pedantic", "-Wall", "-Werror"],
        ["float_own", "double", "fixed"],
        slice(1, None, 3),
    ),
}
N_ROWS = 1000


# -- formulas ----------------------------------------------------------------------


def comparison(rng, d, m, quantity, profile, factor=None, origin=None, **more):
    r = d if factor is None else factor.shape[-1]
    centers = rng.normal(size=(m, r))
    if quantity == "cosine":
        centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    gamma = more.pop("gamma", np.full(1, 0.3))
    return Comparison(quantity, profile, centers, gamma, factor, origin, **more)


def formula(rng, d, kernel, m=9, n_outputs=1, steps=(), answer=None, groups=()):
    groups = [KernelGroup(kernel, m), *groups]
    total = sum(group.n_functions for group in groups)
    return Formula(
        inputs=tuple(Input(f"x{i}") for i in range(d)),
        steps=tuple(steps),
        groups=tuple(groups),
        coef=rng.normal(size=(n_outputs, total)),
        intercept=rng.normal(size=n_outputs),
        answer=answer or Answer("numbers", "identity", is_single=n_outputs == 1),
    )


def kernels(rng, d=4, m=9):
    """Yield a name and a tree for every quantity, profile, map and combination."""
    diagonal, full = rng.uniform(0.5, 2.0, d), rng.normal(size=(d, 3))
    origin = rng.normal(size=d)
    squared = "squared-distance", "exponential"

    def leaf(*arguments, **more):
        return comparison(rng, d, m, *arguments, **more)

    yield "gaussian", leaf(*squared)
    yield "gaussian_diagonal", leaf(*squared, diagonal, origin)
    yield "gaussian_full", leaf(*squared, full, origin)
    yield "gaussian_widths", leaf(*squared, gamma=rng.uniform(0.1, 1.0, m))
    yield "laplacian", leaf("absolute-distance", "exponential")
    yield "laplacian_full", leaf("absolute-distance", "exponential", full, origin)
    for nu in (0.5, 1.5, 2.5):
        yield f"matern_{int(10 * nu)}", leaf(squared[0], "matern", diagonal, nu=nu)
    yield "multiquadric", leaf(squared[0], "inverse-multiquadric")
    yield "polynomial", leaf("product", "polynomial", coef0=1.0, degree=3)
    yield "polynomial_full", leaf("product", "polynomial", full, coef0=0.5, degree=2)
    yield "linear", leaf("product", "identity")
    yield "sigmoid", leaf("product", "tanh", coef0=-0.2)
    yield "cosine", leaf("cosine", "identity", diagonal)
    both = leaf(*squared, diagonal, origin), leaf("product", "identity")
    inner = Combination("scaled", (Combination("product", both),), 0.7)
    constant = Combination("constant", (), 0.4)
    yield "combined", Combination("sum", (inner, constant))


@dataclass
class Case:
    name: str
    formula: Formula
    X: np.ndarray


def kernel_cases(rng):
    d = 4
    for name, kernel in kernels(rng, d):
        X = rng.normal(size=(N_ROWS, d)) * 1.5
        yield Case(name, formula(rng, d, kernel), X)


def preparation_cases(rng):
    """Yield formulas behind every step, alone and together."""
    X = rng.normal(size=(N_ROWS, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
    missing = X.copy()
    missing[rng.random(X.shape) < 0.2] = np.nan
    scaler = Affine(np.array([1.0, -0.1, 5.0]), np.array([0.0, 0.5, -1.0]))
    fill = Fill(np.array([0.1, 5.0, 1.0]), np.nan)
    quantiles = np.quantile(X, np.linspace(0, 1, 21), axis=0)
    quantiles[3:6] = quantiles[3]  # equal ones
    shares = np.linspace(0, 1, 21)
    large = np.round(2000.0 + 3.0 * rng.normal(size=(N_ROWS, 3)).clip(-1, 1)) + 0.1
    whole = np.quantile(large, shares, axis=0)
    positive = np.abs(X) + 0.01
    powers = np.array([0.5, 0.0, 2.0])
    codes = np.column_stack(
        [
            rng.integers(-1, 3, N_ROWS),
            rng.normal(size=N_ROWS),
            rng.integers(0, 2, N_ROWS),
        ]
    ).astype(float)
    codes[::7, 0] = np.nan
    categories = (np.array([0.0, 1.0, 2.0, np.nan]),)
    one_hot = OneHot(categories, (np.array([0, 1, 2, -1]),), (-1,), 3)
    strict = OneHot(categories, (np.array([0, 1, 2, -1]),), (-2,), 3)
    encode = Encode(categories, (np.array([2.0, 0.0, 1.0, -1.0]),), (-3.0,))

    def branches(first):
        scaled = (Take(np.array([1])), Affine(np.array([2.0]), np.array([1.0])))
        return Branches(((Take(np.array([0])), first), scaled, (Take(np.array([2])),)))

    lists = {
        "affine": ([scaler], X),
        "affine_clip": ([scaler, Clip(np.full(3, -1.0), np.full(3, 1.5))], X),
        "affine_fill_affine": ([scaler, fill, scaler], missing),
        "fill_number": ([Fill(np.ones(3), 0.0)], np.round(X)),
        "flag": ([Branches(((fill, scaler), (Flag(np.nan),)))], missing),
        "take": ([scaler, Take(np.array([2, 0]))], X),
        "linear": ([scaler, Linear(rng.normal(size=(3, 2)))], X),
        "linear_affine_linear": (
            [Linear(rng.normal(size=(3, 2))), Affine(np.ones(2), np.ones(2)),
             Clip(-np.ones(2), np.ones(2)), Linear(rng.normal(size=(2, 2)))], X),
        "yeo_johnson": ([Power(powers, "yeo-johnson"), scaler], X),
        "box_cox": ([Power(powers, "box-cox")], positive),
        "quantiles": ([Quantiles(quantiles, shares, False)], X),
        "normal_quantiles": ([Quantiles(quantiles, shares, True)], X),
        # Rows at the ends, where the shares jump and single precision is coarse.
        "large_quantiles": ([Quantiles(whole, shares, True)], large),
        "one_hot": ([branches(one_hot)], codes),
        "one_hot_known": ([branches(strict)], codes),
        "encode": ([branches(encode), scaler], codes),
        "zero_scale": ([Affine(np.array([1.0, 0.0, 1.0]), np.arange(3.0))], X),
    }  # fmt: skip
    for name, (steps, rows) in lists.items():
        d = steps_width(steps, 3)
        leaf = comparison(rng, d, 9, "squared-distance", "exponential", None,
                          rng.normal(size=d))  # fmt: skip
        if name == "take":
            leaf = comparison(rng, d, 9, "product", "polynomial", coef0=1.0, degree=2)
        yield Case(f"after_{name}", formula(rng, 3, leaf, steps=steps), rows)
    products = MonomialGroup(((), (0,), (0, 2), (1, 1)))
    leaf = comparison(rng, 3, 5, "squared-distance", "exponential")
    mixed = formula(rng, 3, leaf, 5, steps=[scaler], groups=[products])
    yield Case("products", mixed, X)


def steps_width(steps, width):
    X = np.zeros((1, width))
    for step in steps:
        X = step(X)
    return X.shape[1]


def answer_cases(rng):
    d = 3
    words = ("no", 'a "b"\\ é??/', "yes")
    answers = {
        "two_outputs": (2, Answer("numbers", "identity", is_single=False)),
        "counts": (1, Answer("numbers", "exp")),
        "two_counts": (2, Answer("numbers", "exp", is_single=False)),
        "two_classes": (1, Answer("classes", "identity", (-1, 1))),
        "two_probable": (1, Answer("classes", "logistic", ("no", "yes"))),
        "classes": (3, Answer("classes", "identity", words)),
        "softmax": (3, Answer("classes", "softmax", (0, 1, 2))),
        "one_against_rest": (3, Answer("classes", "logistic-ovr", words)),
        "two_calibrated": (1, Answer("classes", "logistic", ("no", "yes"), factor=1.7)),
        "calibrated": (3, Answer("classes", "softmax", (0, 1, 2), factor=5.3)),
        "hardly_probable": (3, Answer("classes", "softmax", (0, 1, 2), factor=1e-9)),
    }
    for name, (n, answer) in answers.items():
        leaf = comparison(rng, d, 9, "squared-distance", "exponential")
        X = rng.normal(size=(N_ROWS, d))
        yield Case(name, formula(rng, d, leaf, n_outputs=n, answer=answer), X)
    # Far from every class.
    far = formula(rng, d, leaf, n_outputs=3, answer=answers["one_against_rest"][1])
    yield Case("far", replace(far, intercept=np.array([-30.0, -31.0, -32.0])), X)
    none = formula(rng, d, leaf, m=0)
    none = replace(none, groups=(), coef=np.empty((1, 0)))
    yield Case("constant", none, X)


def all_cases():
    rng = np.random.default_rng(0)
    cases = [*kernel_cases(rng), *preparation_cases(rng), *answer_cases(rng)]
    assert len({case.name for case in cases}) == len(cases)
    return cases


CASES = all_cases()
# What needs a step or a kernel that only floating-point numbers have.
NOT_FIXED = {
    "sigmoid",
    "cosine",
    "after_fill_number",
    "after_linear_affine_linear",
    "after_yeo_johnson",
    "after_box_cox",
    "after_quantiles",
    "after_normal_quantiles",
    "after_large_quantiles",
    "after_zero_scale",
    "products",
}
TYPES = {"float": np.float32, "double": np.float64, "fixed": np.int32}


# -- compiled ----------------------------------------------------------------------


def driver(codes):
    """Return a program that reads rows and writes what each header computes."""
    parts = ["#include <stdio.h>"]
    for code in codes:
        parts.append(f'#include "{code.name}.h"')
    for code in codes:
        parts.append(_part_of_driver(code))
    calls = "\n".join(f"    run_{code.name}();" for code in codes)
    parts.append(f"int main(void)\n{{\n{calls}\n    return 0;\n}}\n")
    return "\n".join(parts)


def _part_of_driver(code):
    name, big = code.name, code.name.upper()
    T = {"fixed": "int32_t"}.get(code.number, code.number)
    answers = ""
    if f"int {name}_predict" in code.code and f"{big}_N_CLASSES" in code.code:
        answers += f"""
        answer = {name}_predict(row);
        fwrite(&answer, sizeof answer, 1, stdout);"""
    elif f"void {name}_predict" in code.code:
        answers += f"""
        {name}_predict(row, out);
        fwrite(out, sizeof *out, {big}_N_OUTPUTS, stdout);"""
    elif f"{name}_predict" in code.code:
        answers += f"""
        out[0] = {name}_predict(row);
        fwrite(out, sizeof *out, 1, stdout);"""
    if f"{name}_probabilities" in code.code:
        answers += f"""
        {name}_probabilities(row, chances);
        fwrite(chances, sizeof *chances, {big}_N_CLASSES, stdout);"""
    return f"""
static void run_{name}(void)
{{
    {T} row[{big}_N_INPUTS], out[{big}_N_OUTPUTS], chances[64];
    int i, n, answer = {name}_selftest();
    fwrite(&answer, sizeof answer, 1, stdout);
    (void)chances;
    if (fread(&n, sizeof n, 1, stdin) != 1)
        return;
    for (i = 0; i < n; i++) {{
        if (fread(row, sizeof *row, {big}_N_INPUTS, stdin) != {big}_N_INPUTS)
            return;
        {name}_values(row, out);
        fwrite(out, sizeof *out, {big}_N_OUTPUTS, stdout);{answers}
    }}
}}
"""


@dataclass
class Result:
    selftest: int
    values: np.ndarray
    answers: np.ndarray
    probabilities: np.ndarray | None


def build(folder, codes, command):
    """Compile a driver of these headers; return the program."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    for code in codes:
        (folder / f"{code.name}.h").write_text(code.code, encoding="utf-8")
    (folder / "driver.c").write_text(driver(codes), encoding="utf-8")
    program = folder / "driver"
    flags = [*command[1:], "driver.c", "-o", str(program), "-lm"]
    done = subprocess.run(
        [command[0], *flags], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode and "-m32" in command and "warning" not in done.stderr:
        missing = ("cannot find", "bits/libc-header-start.h", "skipping incompatible")
        if any(text in done.stderr for text in missing):
            pytest.skip("there are no 32-bit libraries")
    assert done.returncode == 0, done.stderr[:4000]
    return program


def run(folder, codes, rows, command):
    """Return what each header computes for its rows."""
    program = build(folder, codes, command)
    types = [np.dtype(TYPES[code.number]) for code in codes]
    data = b"".join(
        np.int32(len(X)).tobytes() + np.ascontiguousarray(X, dtype=t).tobytes()
        for X, t in zip(rows, types, strict=True)
    )
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    results, start = [], 0
    for code, X, t in zip(codes, rows, types, strict=True):
        record = np.dtype(record_of(code, t))
        selftest = np.frombuffer(done.stdout, np.int32, 1, start)[0]
        found = np.frombuffer(done.stdout, record, len(X), start + 4)
        start += 4 + record.itemsize * len(X)
        chances = found["p"] if "p" in record.names else None
        results.append(Result(int(selftest), found["f"], found["a"], chances))
    assert start == len(done.stdout)
    return results


def record_of(code, t):
    """Return the fields that the driver writes for each row."""

    def macro(word):
        found = re.search(rf"#define {code.name.upper()}_{word} (\d+)", code.code)
        return int(found[1]) if found else 0

    n, n_classes = macro("N_OUTPUTS"), macro("N_CLASSES")
    fields = [("f", t, (n,)), ("a", np.int32) if n_classes else ("a", t, (n,))]
    if f"{code.name}_probabilities" in code.code:
        fields.append(("p", t, (n_classes,)))
    return fields


def exported(case, word):
    """Return a case in the numbers that a word such as "float_own" names, or None."""
    number, *more = word.split("_")
    options = {"number": number, "name": f"{case.name}_{word}", "X": case.X}
    if "own" in more:
        options["with_libm"] = False
    if "16" in more:
        options["table_bits"] = 16
    try:
        return to_c(case.formula, **options)
    except UnsupportedError:
        assert number == "fixed"
        assert case.name in NOT_FIXED
        return None


@pytest.fixture(scope="module")
def sets():
    """Return cases and codes for each kind of numbers."""
    words = {word for _, words, _ in BUILDS.values() for word in words}
    found = {}
    for word in words:
        pairs = [(case, exported(case, word)) for case in CASES]
        found[word] = [(case, code) for case, code in pairs if code is not None]
    return found


@pytest.mark.parametrize("build", BUILDS)
def test_compiled_headers_compute_what_formulas_do(sets, tmp_path, build):
    command, words, some = BUILDS[build]
    if "float" in words:
        command = [*command, "-Wdouble-promotion"] if "double" not in words else command
    pairs = [pair for word in words for pair in sets[word][some]]
    tries = [(case, code, tried_rows(case, code)) for case, code in pairs]
    rows = [code.rows(X) for _, code, X in tries]
    codes = [code for _, code in pairs]
    results = run(tmp_path, codes, rows, command)
    for (case, code, X), whole, result in zip(tries, rows, results, strict=True):
        assert result.selftest == 0, code.name
        if code.number == "fixed":
            check_fixed(case, code, X, whole, result)
        else:
            check_floating(case, code, X, result)


def tried_rows(case, code):
    """Return the rows of a case; for fixed point also corners of the ranges."""
    if code.number != "fixed":
        return case.X
    rng = np.random.default_rng(1)
    ends = np.nanmin(case.X, axis=0), np.nanmax(case.X, axis=0)
    corners = np.where(rng.random((200, case.X.shape[1])) < 0.5, *ends)
    return np.vstack([case.X, corners, *ends])


def check_floating(case, code, X, result):
    """Values are as near as stated, and answers follow from them."""
    expected = case.formula.values(X)
    assert np.array_equal(np.isnan(result.values), np.isnan(expected)), code.name
    known = ~np.isnan(expected).any(axis=1)
    error = np.abs(result.values - expected)[known]
    assert (error <= code.error_bound + 1e-300).all(), code.name
    if case.name == "after_large_quantiles":
        assert code.error_bound.max() < 1e-4  # no row counts as one that jumps
    if code.number == "double":
        assert error.max() <= 1e-9 * np.abs(expected[known]).max(), code.name
    near = 1e-6 if code.number == "float" else 1e-12
    check_answers(case, code, expected, result, known, 1.0, near)


def check_fixed(case, code, X, whole, result):
    """Values are what NumPy says bit by bit, and as near as stated."""
    assert np.array_equal(code._program.run(whole), result.values), code.name
    expected = case.formula.values(X)
    values = code.values(X)
    assert np.array_equal(np.isnan(values), np.isnan(expected)), code.name
    known = ~np.isnan(expected).any(axis=1)
    error = np.abs(values - expected)[known]
    assert (error <= code.error_bound).all(), code.name
    answer = case.formula.answer
    unit = 2.0**-30 if answer.kind == "classes" else np.ldexp(1.0, -code.output_bits)
    near = 1e-7
    if answer.link == "exp":
        said = r"Predictions have (.*) bits, and differ by at most (.*)\."
        bits, stated = (
            np.array(text.split(", "), dtype=float)
            for text in re.search(said, code.code).groups()
        )
        unit, near = 2.0**-bits, stated.max()
        assert near < 1e-2 * np.exp(expected).max()
    check_answers(case, code, expected, result, known, unit, near)


def check_answers(case, code, expected, result, known, unit, near):
    answer = case.formula.answer
    f, worst = expected[known], code.error_bound.max()
    if answer.kind == "numbers":
        numbers = np.exp(f) if answer.link == "exp" else f
        found = result.answers[known] * unit
        slope = 2.0 * numbers.max() if answer.link == "exp" else 1.0
        assert np.abs(found - numbers).max() <= slope * worst + near, code.name
        return
    assert (result.answers[~known] == -1).all()
    differ = result.answers[known] != answer.classes(f)
    assert (margins(f)[differ] <= 2 * worst).all(), code.name
    assert differ.mean() < 0.01
    if answer.has_probabilities:
        found = result.probabilities[known] * unit
        assert np.abs(found - answer.probabilities(f)).max() <= worst + near, code.name
        assert np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-6)


def margins(f):
    """Return how far a row is from another class."""
    if f.shape[1] == 1:
        return np.abs(f[:, 0])
    ordered = np.sort(f, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def test_headers_hold_what_their_devices_have(sets):
    for word, pairs in sets.items():
        for _, code in pairs:
            text = re.sub(r"/\*.*?\*/", "", code.code, flags=re.DOTALL)
            assert "malloc" not in text
            names = set(re.findall(r"[A-Za-z_]\w*", text))
            if code.number == "float":
                assert "double" not in names
            if code.number == "fixed":
                assert not names & {"float", "double", "exp", "expf", "sqrtf"}
                assert not re.search(r"\d\.\d|\de-?\d+\b", text)
            if "own" in word:
                assert not names & {"exp", "expf", "log", "logf", "sqrtf", "tanhf"}
            arrays = re.findall(r"^\s*(static .*\[\d+\] =)", text, flags=re.MULTILINE)
            assert all(" const " in array for array in arrays)
            assert all(
                line.startswith(("static inline ", "static const "))
                for line in re.findall(r"^static .*", text, flags=re.MULTILINE)
            )


# -- fitted models -----------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 240
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 0.5, n)),
            "town": rng.choice(["Bern", "Graz", "Sankt Pölten"], n),
        }
    )
    return X, np.where((X["age"] < 40) ^ (X["town"] == "Graz"), "yes", "no")


@pytest.fixture(scope="module")
def on_frame(frame):
    """A pipeline with words and missing values."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["age", "income"]), (OneHotEncoder(handle_unknown="ignore"), ["town"])
    )
    model = KMPClassifier("rbf", gamma=0.5, loss="logistic", max_support=20)
    return make_pipeline(columns, model).fit(*frame)


@pytest.fixture(scope="module")
def fitted(frame, on_frame):
    """Return fitted models whose path is longer than one size, and rows for each."""
    X, y = load_diabetes(return_X_y=True)
    I, species = load_iris(return_X_y=True)  # noqa: E741
    small = {"gamma": 1.0, "max_support": 15}
    scaled = make_pipeline(
        StandardScaler(), KMPRegressor("laplacian", gamma=0.1, max_support=20)
    )
    return {
        "numbers": (scaled.fit(X, y), X),
        "metric": (KMPRegressor("rbf", metric="full", max_support=10).fit(X, y), X),
        "separate": (
            KMPClassifier("rbf", loss="logistic", multiclass="ovr", **small)
            .fit(I, species), I),
        "frame": (on_frame, frame[0]),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("number", ["float", "double", "fixed"])
def test_compiled_models_predict_as_models_do(fitted, tmp_path, number):
    others = {
        re.sub(r"\W", "_", name): exported_models.fitted(name)
        for name in exported_models.NAMES
    }
    tries = []
    for name, (model, X) in {**fitted, **others}.items():
        try:
            code = to_c(model, X=X, number=number, name=name)
        except UnsupportedError:
            assert number == "fixed"
            continue
        tries.append((code, model, X))
    assert len(tries) > 25
    codes = [code for code, _, _ in tries]
    rows = [code.rows(X) for code, _, X in tries]
    results = run(tmp_path, codes, rows, ["gcc", "-O0", *STRICT])
    for (code, model, X), result in zip(tries, results, strict=True):
        check_predictions(code, model, X, result)


def check_predictions(code, model, X, result):
    """Predictions are the model's, up to the stated bound."""
    assert result.selftest == 0, code.name
    unit = 1.0 if code.output_bits is None else np.ldexp(1.0, -code.output_bits)
    expected, bound = model.predict(X), code.error_bound + 1e-12
    if not hasattr(model, "classes_"):
        values = result.values * unit
        if code.name == "poisson":
            values, bound = np.exp(values), np.exp(values + bound) - np.exp(values)
        error = np.abs(values - expected.reshape(len(X), -1))
        assert (error <= bound).all(), code.name
        return
    f = model.decision_function(X).reshape(len(X), -1)
    assert (np.abs(result.values * unit - f) <= bound).all(), code.name
    differ = model.classes_[result.answers] != expected
    assert (margins(f)[differ] <= 2 * bound.max()).all(), code.name
    if result.probabilities is not None:
        one = 2.0**-30 if code.number == "fixed" else 1.0
        error = np.abs(result.probabilities * one - model.predict_proba(X))
        assert error.max() < bound.max() + 1e-6, code.name


def test_words_are_constants_of_the_header(on_frame, frame):
    code = to_c(on_frame, X=frame[0], name="buys").code
    assert "BUYS_TOWN_GRAZ = 1, /* Graz */" in code
    assert "BUYS_TOWN_SANKT_P_LTEN = 2 /* Sankt P?lten */" in code.replace("ö", "?")
    assert '"no", "yes"' in code
    assert "[1] income" in code


def test_self_test_finds_altered_constants(tmp_path):
    case = next(case for case in CASES if case.name == "gaussian_diagonal")
    for number in ("float", "fixed"):
        code = to_c(case.formula, X=case.X, name="altered", number=number)
        table = re.search(r"altered_coef\[9\] = \{\s*(\S+),", code.code)
        first = table[1].rstrip("f")
        other = (
            str(float(first) + 0.01) + "f" if number == "float" else str(int(first) + 9)
        )
        changed = code.code[: table.start(1)] + other + code.code[table.end(1) :]
        broken = replace(code, code=changed)
        (result,) = run(tmp_path, [broken], [code.rows(case.X[:1])], ["gcc", *STRICT])
        assert result.selftest > 0


# -- bounds, costs and budgets -----------------------------------------------------


@pytest.mark.parametrize("number", ["float", "double"])
def test_own_exponential_is_as_exact_as_stated(tmp_path, number):
    """A model whose value is the exponential of its row."""
    leaf = Comparison("product", "identity", np.ones((1, 1)), np.ones(1))
    simple = formula(np.random.default_rng(0), 1, leaf, m=1)
    simple = replace(
        simple,
        coef=np.ones((1, 1)),
        intercept=np.zeros(1),
        answer=Answer("numbers", "exp"),
    )
    x = np.concatenate([np.linspace(-86, 87, 100_001), [0.0, -1e-30, 1e-9, -1e4]])
    x = x[:, None].astype(TYPES[number])
    code = to_c(simple, number=number, with_libm=False, X=x[:100])
    (result,) = run(tmp_path, [code], [x], ["gcc", "-O2", *STRICT])
    expected = np.exp(x.astype(np.longdouble))
    error = np.abs(result.answers / expected - 1)[:-1].max()
    assert error < EXPONENTIAL_ERROR[number]
    assert error > 0.05 * EXPONENTIAL_ERROR[number]  # the bound says something
    assert result.answers[-1] == 0.0


def test_fixed_exponential_is_as_exact_as_stated():
    rng = np.random.default_rng(0)
    t = np.concatenate([np.arange(1 << 18), rng.integers(0, 23 << 27, 400_000)])
    expected = np.exp(-t / 2.0**27)
    error = np.abs(exponentials(t) / 2.0**30 - expected)
    bound = EXP_RELATIVE * expected + EXP_ABSOLUTE
    assert (error < bound).all()
    assert error.max() > 0.2 * bound.max()


def test_fixed_numbers_outside_the_range_are_moved_to_its_end(sets):
    case, code = next(p for p in sets["fixed"] if p[0].name == "gaussian_full")
    low, high = case.X.min(axis=0), case.X.max(axis=0)
    X = np.random.default_rng(0).normal(size=(500, 4)) * 100.0
    expected = case.formula.values(np.clip(X, low, high))
    assert np.abs(code.values(X) - expected).max() <= code.error_bound + 1e-7


def test_fixed_point_takes_whole_numbers_of_sensors():
    rng = np.random.default_rng(0)
    X = rng.integers(-500, 500, (300, 2)).astype(float)
    leaf = comparison(rng, 2, 5, "squared-distance", "exponential", np.full(2, 0.005))
    sensed = formula(rng, 2, leaf, m=5)
    code = to_c(sensed, X=X, number="fixed", input_bits=0)
    assert np.array_equal(code.rows(X), X)
    assert np.abs(code.values(X) - sensed.values(X)).max() < 1e-6
    with pytest.raises(ValueError, match="input_bits=25 is too many for column 'x0'"):
        to_c(sensed, X=X, number="fixed", input_bits=[25, 0])


ARM = ["clang", "--target=thumbv7em-none-eabi", "-mcpu=cortex-m4", "-ffreestanding"]


@pytest.mark.parametrize("word", ["float", "float_own", "double", "fixed"])
def test_costs_are_near_what_compilers_make(sets, tmp_path, word):
    """Constants exactly, up to what the compiler writes into the code; code roughly."""
    if not all(map(shutil.which, ("clang", "size"))):
        pytest.skip("clang or size is not installed")
    (tmp_path / "math.h").write_text(
        "".join(
            f"{t} {f}{s}({t});\n"
            for f in ("exp", "log", "sqrt", "tanh", "log1p", "expm1")
            for t, s in (("float", "f"), ("double", ""))
        )
    )
    (tmp_path / "string.h").write_text("#define memcpy __builtin_memcpy\n")
    chosen = [
        (case, code)
        for case, code in sets.get(word) or [(c, exported(c, word)) for c in CASES]
        if case.name in ("gaussian_full", "laplacian", "matern_25", "softmax")
    ]
    for _, code in chosen:
        name, T = code.name, {"fixed": "int32_t"}.get(code.number, code.number)
        (tmp_path / f"{name}.h").write_text(code.code)
        calls = f"    {name}_values(row, out);\n"
        if f"{name}_probabilities" in code.code:
            calls += (
                f"    {name}_probabilities(row, out);\n    (void){name}_predict(row);\n"
            )
        (tmp_path / f"{name}.c").write_text(
            f'#include "{name}.h"\nvoid run(const {T} *row, {T} *out);\n'
            f"void run(const {T} *row, {T} *out)\n{{\n{calls}}}\n"
        )
        command = [*ARM, "-Os", "-I.", "-c", f"{name}.c", "-o", f"{name}.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        if "unable to create target" in done.stderr:
            pytest.skip("clang has no ARM target")
        assert done.returncode == 0, done.stderr
        lines = subprocess.run(
            ["size", "-A", f"{name}.o"], cwd=tmp_path, capture_output=True, text=True
        ).stdout.splitlines()
        sizes = {
            line.split()[0]: int(line.split()[1]) for line in lines if "." in line[:1]
        }
        constants = sum(n for key, n in sizes.items() if key.startswith(".rodata"))
        compiled = sum(n for key, n in sizes.items() if key.startswith(".text"))
        assert abs(constants - code.costs.table_bytes) <= 32, name
        assert 0.6 * compiled < code.costs.code_bytes < 1.7 * compiled, name


@pytest.mark.parametrize("target", ["avr -mmcu=atmega328p", "riscv32"])
def test_headers_compile_for_other_chips(sets, tmp_path, target):
    """Types are checked; on AVR, an int has 16 bits."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    (tmp_path / "string.h").write_text("#define memcpy __builtin_memcpy\n")
    (tmp_path / "math.h").write_text('#define NAN __builtin_nanf("")\n')
    codes = [
        code
        for word in ("float_own", "fixed", "fixed_16")
        for _, code in sets[word][::2]
        if "INFINITY" not in code.code
    ]
    for code in codes:
        (tmp_path / f"{code.name}.h").write_text(code.code)
    source = "\n".join(f'#include "{code.name}.h"' for code in codes)
    source += "\nint run(void);\nint run(void)\n{\n    int failed = 0;\n"
    source += "".join(f"    failed += {code.name}_selftest();\n" for code in codes)
    (tmp_path / "all.c").write_text(source + "    return failed;\n}\n")
    command = ["clang", *f"--target={target}".split(), "-ffreestanding", *STRICT]
    done = subprocess.run(
        [*command, "-I.", "-emit-llvm", "-c", "all.c"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if "unable to create target" in done.stderr or "unknown target" in done.stderr:
        pytest.skip(f"clang has no target {target}")
    assert done.returncode == 0, done.stderr[:4000]


def test_costs_count_the_work(on_frame, frame):
    case = next(case for case in CASES if case.name == "gaussian_full")
    code = to_c(case.formula, X=case.X)
    # 9 functions of 3 coordinates, their sum, and a map from 4 columns.
    assert code.costs.multiply_adds == 9 * 3 + 9 + 4 * 3
    assert code.costs.functions == {"exp": 9}
    assert code.costs.table_bytes == 4 * (9 * 3 + 9 + 4 * 3 + 4)
    assert code.costs.self_test_bytes == 4 * (4 * 5 + 1)
    assert "48 multiply-adds, 9 exp" in repr(code)
    assert "within" in repr(code)
    without = to_c(case.formula, self_test=0)
    assert without.costs.self_test_bytes == 0
    assert "selftest" not in without.code


@pytest.mark.parametrize("number", ["float", "fixed"])
def test_budget_takes_the_largest_model_that_fits(fitted, number):
    for name in ("numbers", "separate"):
        model, X = fitted[name]
        whole = to_c(model, X=X, number=number)
        same = to_c(model, X=X, number=number, max_bytes=whole.costs.flash_bytes)
        assert same.n_functions == whole.n_functions
        assert "whole" in same.note
        budget = whole.costs.flash_bytes - 200
        code = to_c(model, X=X, number=number, max_bytes=budget)
        assert code.costs.flash_bytes <= budget
        assert 1 <= code.n_functions < whole.n_functions
        last = (model[-1] if name == "numbers" else model).truncate()
        larger = last.truncate(code.size + 1)
        if name == "numbers":
            larger = make_pipeline(model[0], larger)
        assert to_c(larger, X=X, number=number).costs.flash_bytes > budget
        assert re.search(r"loss [\d.e+]+, [\d.e+]+ for all steps", code.note)
        assert code.note in repr(code)
        assert code.note[:40] in code.code


def test_budget_that_nothing_fits(fitted):
    model, X = fitted["numbers"]
    with pytest.raises(ValueError, match="max_bytes=100 is too small: the model after"):
        to_c(model, X=X, max_bytes=100)
    with pytest.raises(ValueError, match="needs a path to choose from, which Formula"):
        to_c(CASES[0].formula, max_bytes=8192)


def test_lost_digits_are_told():
    rng = np.random.default_rng(0)
    leaf = comparison(rng, 2, 40, "squared-distance", "exponential")
    steep = formula(rng, 2, leaf, m=40)
    steep = replace(steep, coef=steep.coef * 1e7)
    target = steep.values(np.zeros((1, 2)))[0]
    steep = replace(steep, intercept=steep.intercept - target)
    X = rng.normal(size=(50, 2)) * 1e-4
    with pytest.warns(UserWarning, match=r"'float' leaves \d.\d decimal digits"):
        to_c(steep, X=X)
    assert to_c(steep, X=X, number="double").error_bound.max() < 1e-5


def test_rows_are_found_without_any_given(fitted):
    for model, X in fitted.values():
        code = to_c(model)
        assert "model_selftest" in code.code
        fixed = to_c(model, number="fixed")
        inside = fixed.values(X)
        assert np.isfinite(inside).all()


def test_support_points_come_back_through_the_preparation(on_frame):
    described = formula_of(on_frame)
    rows = typical_rows(described)
    assert len(rows) == described.n_functions
    points = on_frame[-1].support_vectors_
    assert np.abs(described.prepared(rows) - points)[:, :2].max() < 1e-9


@pytest.mark.parametrize(
    "options, message",
    [
        ({"number": "half"}, "number='half' must be one of"),
        ({"max_bytes": 0}, "max_bytes=0 must be a whole number"),
        ({"self_test": -1}, "self_test=-1 must be a number of rows"),
        ({"name": "2model"}, "name='2model' must be a name of C"),
        ({"name": "float"}, "name='float' must be a name of C"),
        ({"table_bits": 8}, "table_bits=8 must be 16 or 32"),
        ({"table_bits": 16}, "need number='fixed', not 'float'"),
        ({"input_bits": 3}, "need number='fixed', not 'float'"),
        ({"number": "fixed", "input_bits": 0.5}, "input_bits=0.5 must be a whole"),
        ({"X": np.empty((0, 4))}, "X has no rows"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        to_c(CASES[0].formula, **options)


def test_floating_codes_are_not_known_bit_by_bit():
    with pytest.raises(ValueError, match="rounds differently from device to device"):
        to_c(CASES[0].formula).values(CASES[0].X)


@pytest.mark.parametrize(
    "name, message",
    [
        ("cosine", "The cosine kernel is not written in fixed point"),
        ("after_yeo_johnson", "The step Power is not written in fixed point"),
        ("after_fill_number", "missing_values=0 is not written in fixed point"),
        ("products", "not written in fixed point"),
    ],
)
def test_what_fixed_point_lacks_is_said(name, message):
    case = next(case for case in CASES if case.name == name)
    with pytest.raises(UnsupportedError, match=message):
        to_c(case.formula, X=case.X, number="fixed")


def test_headers_are_written_into_files(tmp_path):
    code = to_c(CASES[0].formula, tmp_path / "model.h")
    assert (tmp_path / "model.h").read_text(encoding="utf-8") == str(code) == code.code


def test_models_without_points_are_written_too():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = KMPClassifier("rbf", gamma=1.0, max_support=4, selection=None)
    empty = model.fit(X, X[:, 0] > 0).truncate(0)
    for number in ("float", "double", "fixed"):
        code = to_c(empty, number=number, X=X, max_bytes=4000)
        assert code.n_functions == 0
        assert "selftest" in code.code


def test_rows_without_an_answer_check_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = KMPClassifier("rbf", gamma=1.0, max_support=4, selection=None)
    with pytest.raises(ValueError, match="No row of X has an answer"):
        to_c(model.fit(X, X[:, 0] > 0), X=np.full((3, 2), np.nan))


def test_fixed_numbers_that_are_too_coarse_are_warned_of():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = KMPClassifier("rbf", gamma=1.0, max_support=4, selection=None)
    with pytest.warns(UserWarning, match="leaves values within.*raise input_bits"):
        to_c(model.fit(X, X[:, 0] > 0), number="fixed", X=X, input_bits=0)


def test_words_without_latin_letters_go_by_their_codes():
    table = pd.DataFrame({"都市": ["東京", "大阪", "Rome"] * 10})
    model = make_pipeline(
        OneHotEncoder(sparse_output=False),
        KMPRegressor("rbf", gamma=1.0, max_support=2, selection=None),
    ).fit(table, np.arange(30.0) % 3)
    code = to_c(model, name="town", X=table).code
    assert "EMPTY" not in code
    assert "TOWN_COLUMN_0_ROME" in code
    assert len(set(re.findall(r"TOWN_COLUMN_0_WORD_\d", code))) == 2


def test_subclasses_may_predict_otherwise():
    class Contrary(KMPClassifier):
        pass

    X = np.random.default_rng(0).normal(size=(50, 2))
    model = Contrary("rbf", gamma=1.0, max_support=4, selection=None)
    with pytest.raises(UnsupportedError, match="Contrary cannot be exported"):
        to_c(model.fit(X, X[:, 0] > 0))
