"""The check of the built pages, and what the pages promise beyond their code blocks."""

import importlib.util
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "plot_first_ten_minutes.py"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


check_site = load(ROOT / "docs" / "check_site.py")
gallery_order = load(ROOT / "docs" / "_extensions" / "gallery_order.py")


def write(folder, **pages):
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")


GOOD = """
<link rel="next" href="https://example.org/"><a href="https://example.org/">far</a>
<a href="other.html#a%20part">there</a><a href="#here">here</a><p id="here">
<img src="picture.png" alt="A picture."><a href="mailto:someone">write</a>
"""


def test_a_sound_site_has_no_problems(tmp_path):
    write(tmp_path, index=GOOD, other='<p id="a part">')
    (tmp_path / "picture.png").touch()
    assert list(check_site.problems(tmp_path)) == []
    assert check_site.main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "body, problem",
    [
        ('<a href="gone.html">x</a>', "no file gone.html"),
        ('<a href="../outside.html">x</a>', "no file ../outside.html"),
        ('<a href="#gone">x</a>', "no anchor #gone"),
        ('<a href="other.html#gone">x</a>', "no anchor other.html#gone"),
        ('<img src="gone.png" alt="A picture.">', "no file gone.png"),
        ('<img src="other.html">', "no alt text for other.html"),
        ('<img src="other.html" alt=" ">', "no alt text for other.html"),
        (
            '<script src="https://cdn.example.org/a.js">',
            "needs the network for https://cdn.example.org/a.js",
        ),
        (
            '<link rel="stylesheet" href="//cdn.example.org/a.css">',
            "needs the network for //cdn.example.org/a.css",
        ),
    ],
)
def test_each_kind_of_problem_is_named_with_its_page(tmp_path, capsys, body, problem):
    write(tmp_path, index=body, other="")
    assert check_site.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"index.html: {problem}\n"


def test_an_empty_folder_is_no_site(tmp_path):
    (line,) = check_site.problems(tmp_path)
    assert "make docs" in line


@pytest.mark.parametrize(
    "name, page, is_part",
    [
        ("sklearn.svm.SVC", "sklearn.svm.SVC", False),
        ("sklearn.svm.SVC.predict", "sklearn.svm.SVC", True),
        ("numpy.linspace", "numpy.linspace", False),
        ("sklearn.svm.SVX", None, False),
        ("sklearn.gone.SVC", None, False),
    ],
)
def test_links_to_other_libraries_lead_to_what_exists(name, page, is_part):
    pytest.importorskip("docutils", reason="it comes with pursuit[docs]")
    elsewhere = load(ROOT / "docs" / "_extensions" / "elsewhere.py")
    assert elsewhere.place(name) == (page, is_part)


def test_the_gallery_begins_with_the_plainest():
    examples = sorted(ROOT.glob("examples/plot_*.py"), key=gallery_order.plainest_first)
    assert examples[0] == SCRIPT
    names = [path.stem.removeprefix("plot_") for path in examples]
    listed = gallery_order.PLAINEST_FIRST
    assert names[: len(listed)] == list(listed)


def test_the_first_ten_minutes(monkeypatch, capsys):
    """First model, first mistake, first picture, first saved model."""
    mpl.use("agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    drawn = []
    monkeypatch.setattr(pyplot, "show", lambda: drawn.append(pyplot.gcf()))
    runpy.run_path(str(SCRIPT))
    out = capsys.readouterr().out
    first, *_, mistake, mended, saved = out.splitlines()
    assert float(first.split("%")[0]) > 95
    assert float(mended.split("%")[0]) > 95
    assert "NaN" in mistake
    assert "'mean area' (row 0 and 21 more)" in mistake
    assert "SimpleImputer" in mistake
    assert saved.endswith("same answers: True")
    (figure,) = drawn
    bars, curve = figure.axes
    assert len(bars.patches) == 8
    assert curve.lines
    pyplot.close(figure)
