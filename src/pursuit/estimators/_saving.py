"""The method of all estimators that writes a model file."""

from __future__ import annotations

import os
from importlib import import_module
from typing import IO, Any

__all__ = ["Saved"]


class Saved:
    """Mixin of estimators that can be saved to a file."""

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the model to a file that :func:`pursuit.load` reads, without pickle.

        Parameters
        ----------
        path : str, path or binary file
            Where to write, such as ``"model.pursuit"``. A file that is there is
            replaced at once. :func:`pursuit.save` does the same, also for pipelines.

        Notes
        -----
        The model is saved whole, with its path if it has one: ``truncate()`` makes the
        file smaller. Functions of your own are refused by name.
        """
        # By name, because files are above the estimators that they hold.
        files: Any = import_module("pursuit.files")
        files.save(self, path)
