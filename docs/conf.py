"""Settings of Sphinx; ``make docs`` builds the pages into build/docs."""

import re
import sys
from pathlib import Path

import pursuit

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

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
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # In docs/_extensions:
    "boundary_picture",
    "elsewhere",
    "local_mathjax",
    "repairs",
]
exclude_patterns = ["_extensions", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# The list of what is on a page says fit(), not KMPClassifier.fit().
toc_object_entries_show_parents = "hide"
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
    "within_subsection_order": "gallery_order.plainest_first",
    "thumbnail_size": (560, 392),
    "reference_url": {"pursuit": None},
    "doc_module": ("pursuit",),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

# What a reader copies from a block of the shell or of Python's prompt.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "pursuit"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["pursuit.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "pursuit", "alt_text": "pursuit, first page"},
    "header_links_before_dropdown": 7,
    "navigation_depth": 3,
    "show_nav_level": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": []}

# What scikit-learn gives every estimator; its docstrings refer to its own pages.
INHERITED = re.compile(r"(get|set)_params|get_metadata_routing|set_\w+_request")


def skip_inherited(app, what, name, obj, skip, options):
    return True if INHERITED.fullmatch(name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
