"""Settings of Sphinx; ``make docs`` builds the pages into build/docs."""

import re

import pursuit

project = "pursuit"
author = "The pursuit developers"
copyright = f"2026, {author}"
release = version = pursuit.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks = {
    "GL06",  # unknown section
    "GL07",  # order of the sections
    "PR02",  # parameter that does not exist
    "PR03",  # order of the parameters
    "SS03",  # summary without a period
}
# What is inherited from float is described as Python describes it.
numpydoc_validation_exclude = {r"\.__\w+__$", r"\.Bound\.(imag|real)$"}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "pursuit"
html_show_sourcelink = False
html_theme_options = {"navigation_depth": 2, "show_nav_level": 1}

# What scikit-learn gives every estimator; its docstrings refer to its own pages.
INHERITED = re.compile(r"(get|set)_params|get_metadata_routing|set_\w+_request")


def skip_inherited(app, what, name, obj, skip, options):
    return True if INHERITED.fullmatch(name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
