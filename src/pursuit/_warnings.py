"""Warnings that point at the user's line, however deep in a fit they arise."""

from __future__ import annotations

import os
import sys
import warnings

import joblib
import sklearn

# Folders of code that stands between a warning and the user: ours, and what may call
# our estimators (pipelines, searches, the wrapper around fit).
_BETWEEN = tuple(
    os.path.join(os.path.dirname(os.path.abspath(file)), "")
    for file in (__file__, sklearn.__file__, joblib.__file__)
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn from the line that called pursuit, directly or by way of scikit-learn."""
    warnings.warn(message, category, stacklevel=_user_level())


def _user_level() -> int:
    """Return the ``stacklevel`` in the caller that means the first line of others.

    Python 3.12 can skip folders by itself (``skip_file_prefixes``); 3.11 cannot.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_BETWEEN):
        level, frame = level + 1, frame.f_back
    return level
