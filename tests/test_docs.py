"""The pages' examples run, and print what the pages say."""

import importlib
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        path
        for path in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
        if "```python" in path.read_text("utf-8")
    ]
)
NAMES = [path.stem for path in PAGES]
# Each block of these pages can be copied by itself; elsewhere, one continues another.
STAND_ALONE = ("components", "densities")
PUBLIC = (
    "bounds components dask datasets densities dictionaries export files functions "
    "inspection kernels losses neighbors ranking report"
)
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def python_blocks(page):
    """Yield the Python blocks of a page, each with empty lines for all that is not."""
    lines = page.read_text("utf-8").splitlines()
    block = None
    for number, line in enumerate(lines):
        if line == "```python":
            block = [""] * len(lines)
        elif line.startswith("```") and block is not None:
            yield block
            block = None
        elif block is not None:
            block[number] = line


def words(text):
    """Return a text without its numbers, and without the spaces that align them."""
    return "".join(NUMBER.sub("#", text).split())


def tolerance(figure):
    """Return how far what is printed may be from the figure of a page.

    Rounding is another on other machines, which may choose other points: counts may
    differ by 15 %, decimals by 5 %, shares such as an accuracy by 0.02 at most.
    """
    value = abs(float(figure))
    if "." not in figure:
        return 0.15 * value
    return 0.05 * value if value > 1 else min(0.02, 0.2 * value)


def run(block, name, names):
    """Run a block; return what was printed at each line, by its number."""
    printed = defaultdict(list)

    def note(*values):
        printed[sys._getframe(1).f_lineno].append(" ".join(map(str, values)))

    names["print"] = note
    exec(compile("\n".join(block), name, "exec"), names)
    return printed


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_examples_print_what_they_say(page):
    """``print(...)  # text`` prints the text; its numbers may differ a little."""
    names = {}
    for block in python_blocks(page):
        if page.stem in STAND_ALONE:
            names.clear()
        for number, texts in run(block, page.name, names).items():
            _, says, stated = block[number - 1].partition(")  # ")
            assert says, f"{page.name}:{number} prints {texts}, and does not say so"
            (text,) = texts
            assert words(text) == words(stated)
            values, figures = map(NUMBER.findall, (text, stated))
            for value, figure in zip(values, figures, strict=True):
                assert float(value) == pytest.approx(
                    float(figure), rel=0, abs=tolerance(figure)
                ), f"{page.name}:{number} prints {text}"


@pytest.mark.parametrize(
    "figure, nearest_that_fails",
    [("0.972", 0.95), ("0.027", 0.035), ("122", 141), ("6", 7), ("-154.7", -146.0)],
)
def test_figures_that_differ_much_are_wrong(figure, nearest_that_fails):
    assert abs(float(figure) - nearest_that_fails) > tolerance(figure)


@pytest.mark.parametrize("name", PUBLIC.split())
def test_what_packages_export_is_in_the_reference(name):
    listed = (ROOT / "docs/api.md").read_text("utf-8").split()
    exported = importlib.import_module(f"pursuit.{name}").__all__
    assert [each for each in exported if f"{name}.{each}" not in listed] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the other systems
@pytest.mark.parametrize("system", ["ray", "pyspark"])
def test_recipes_for_other_systems_run_where_these_are_installed(system):
    pytest.importorskip(system)
    page = ROOT / "docs/beyond_memory.md"
    texts = page.read_text("utf-8").split("```py\n")[1:]
    recipes = [text.partition("```")[0] for text in texts]
    needs = re.compile(rf"^(import|from) {system}\b", re.MULTILINE)
    (recipe,) = filter(needs.search, recipes)
    names = {}
    for block in python_blocks(page):
        run(block, page.name, names)
        if "rows" in names:
            break
    expected = names["model"]
    exec(recipe, names)
    assert (names["model"].support_ == expected.support_).all()
