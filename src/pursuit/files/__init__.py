"""Model files: fitted models as arrays and JSON in one file, without pickle.

`save` writes a model, `load` returns it. Loading a file never runs code of the file:
it holds numbers and words, which are checked and given to known types.

container.py    the bytes: header, arrays, checksum
tree.py         objects as trees of JSON, and back, by records
_*.py           the records of each family
"""

from __future__ import annotations

import os
from typing import IO, Any

from . import container
from ._registry import record_named, record_of
from .tree import Reader, Writer

# What wrong parts of a model may raise, besides a ValueError.
_ODD = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError)

__all__ = ["about", "dumps", "load", "loads", "save"]


def save(model: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write a model to a file that `load` reads, without pickle.

    Parameters
    ----------
    model : estimator or Pipeline
        An estimator of pursuit, fitted or not, or a pipeline of one with scikit-learn's
        usual preprocessing.
    path : str, path or binary file
        Where to write, such as ``"model.pursuit"``. A file that is there is replaced
        at once: after a crash there is the old one or the new one.

    See Also
    --------
    load : Read the file.

    Notes
    -----
    The whole model is saved, with its path. ``save(model.truncate(), path)`` writes a
    smaller file that predicts the same. Functions of your own (kernels, losses,
    metrics) are refused by name, because a file holds no code. Equal models have equal
    files. The page "Model files" describes the format.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> import pursuit
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = pursuit.KMPClassifier("rbf", gamma=2.0, max_support=5).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "moons.pursuit")
    >>> pursuit.save(model, path)
    >>> bool((pursuit.load(path).predict(X) == model.predict(X)).all())
    True
    """
    container.write(path, dumps(model))


def load(path: str | os.PathLike[str] | IO[bytes]) -> Any:
    """Return the model of a file that `save` wrote.

    No code of the file runs, whatever it holds: a file that is damaged, or was made to
    do harm, gives a ValueError that says why, or a model that predicts.

    Parameters
    ----------
    path : str, path or binary file
        File to read, such as ``"model.pursuit"``.

    Returns
    -------
    model : estimator or Pipeline
        It predicts as the one that was saved, and has its parameters.
    """
    return _model(container.read(path))


def dumps(model: Any) -> bytes:
    """Return the bytes of a model file."""
    writer = Writer(record_of)
    tree = writer.tree(model, type(model).__name__)
    if not isinstance(tree, dict) or "type" not in tree:
        raise TypeError(f"model must be an estimator, got {type(model).__name__}.")
    return container.pack(tree, _formula_of(model, writer), about(model), writer.arrays)


def loads(content: bytes) -> Any:
    """Return the model of the bytes of a model file."""
    return _model(container.unpack(content))


def _model(contents: container.Contents) -> Any:
    try:
        model = Reader(contents.arrays, record_named).value(contents.model)
    except RecursionError:
        raise ValueError("The model is nested too deeply.") from None
    except ValueError:
        raise
    except _ODD as error:
        # Parts that cannot be put together are told by their types; this is for the
        # rest, so that a caller has one error to expect.
        raise ValueError(f"The file describes no model: {error!r:.200}.") from error
    if not hasattr(model, "get_params") or not hasattr(model, "fit"):
        raise ValueError("The file holds no model.")
    return model


def about(model: Any) -> dict[str, Any]:
    """Return facts about a file for people: who wrote it. Nothing depends on them."""
    import numpy as np
    import sklearn

    import pursuit

    return {
        "pursuit": pursuit.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "model": type(model).__name__,
    }


def _formula_of(model: Any, writer: Writer) -> Any:
    """Return the tree of a model's formula, None if it has none."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from pursuit.export import UnsupportedError, formula_of
    from pursuit.export.tree import tree_of

    try:
        check_is_fitted(model)
        return tree_of(formula_of(model), lambda array: {"array": writer.array(array)})
    except (UnsupportedError, NotFittedError):
        return None
