"""Links into the manuals of other libraries, made without their inventories.

``{class}`~sklearn.svm.SVC``` and its kin become links. The object must exist in the
library that is installed, so that a name that is wrong or gone is a broken reference.
"""

from importlib import import_module

from docutils import nodes

PAGE = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{page}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{page}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{page}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{page}.html",
}


def setup(app):
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def resolve(app, env, node, content):
    name = node.get("reftarget", "")
    library = name.partition(".")[0]
    if node.get("refdomain") != "py" or library not in PAGE:
        return None
    page, anchor = place(name)
    if page is None:
        return None
    address = PAGE[library].format(page=page) + (f"#{name}" if anchor else "")
    return nodes.reference(
        "", "", content, internal=False, refuri=address, reftitle=f"in {library}"
    )


def place(name):
    """Return the page of an object and whether it is a part of it, or None twice."""
    above, _, last = name.rpartition(".")
    try:
        getattr(import_module(above), last)
    except (ImportError, AttributeError, ValueError):
        module, _, owner = above.rpartition(".")
        try:
            getattr(getattr(import_module(module), owner), last)
        except (ImportError, AttributeError, ValueError):
            return None, False
        return above, True
    return name, False
