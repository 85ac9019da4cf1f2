"""What Sphinx and its extensions leave out of the pages.

``.. module::`` before ``.. autosummary::`` loses its anchor, because docutils gives it
to the next node, which HTML does not show. Thumbnails of the gallery have no alt text.
"""

from docutils import nodes
from sphinx.addnodes import pending_xref, tabular_col_spec


def setup(app):
    app.connect("doctree-read", keep_anchors)
    app.connect("doctree-read", describe_thumbnails)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_anchors(app, doctree):
    for unseen in list(doctree.findall(tabular_col_spec)):
        if unseen["ids"]:
            anchors = nodes.target("", "", ids=unseen["ids"])
            unseen["ids"] = []
            unseen.parent.insert(unseen.parent.index(unseen), anchors)


def describe_thumbnails(app, doctree):
    for image in doctree.findall(nodes.image):
        if image["uri"].endswith("_thumb.png") and not image.get("alt"):
            example = next(image.parent.findall(pending_xref))["reftarget"]
            name = example.rpartition("/")[2].removeprefix("plot_")
            image["alt"] = f"Thumbnail of the example {name.replace('_', ' ')}"
