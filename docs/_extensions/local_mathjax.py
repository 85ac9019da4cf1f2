"""MathJax from a Python package, so that formulas are drawn without a network."""

from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

# The program, its fonts, and what it loads when a formula needs it.
PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts")


def setup(app):
    # Sphinx looks for the program below _static.
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy_mathjax(app, exception):
    if exception or app.builder.format != "html":
        return
    package = Path(find_spec("sphinx-mathjax-offline").origin).parent
    for part in PARTS:
        source = package / "static" / "mathjax" / part
        target = app.outdir / "_static" / "mathjax" / part
        if source.is_dir():
            copytree(source, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
