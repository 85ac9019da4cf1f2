"""Messages of the library in the words of the command line.

The library speaks to people who write Python: of parameters, and of steps to put before
a model. Here these are options, or what a table can do about it.
"""

from __future__ import annotations

import re

__all__ = ["in_command_words"]

# What is replaced, in turn; sentences before words.
_WORDS = {
    r"model\.summary\(\) and model\.search_ tell what was tried": (
        "look for columns that matter, or try another --kernel"
    ),
    r"try a smaller gamma or degree, features of comparable [^.]*": (
        "leave --kernel out, so that one is learned"
    ),
    r"Scale them, for instance with StandardScaler, or let the kernel [^.]*": (
        "Leave --kernel out, so that one is learned"
    ),
    r": scale (it (up|down)|the features), for instance with [^.]*": (
        ": write the column in another unit"
    ),
    r", or pass an instance of a subclass of pursuit\.losses\.\w+": "",
    r"Fit with a larger alpha, raise input_bits or table_bits, or export": "Export",
    r", or fit with a larger alpha": "",
    r"A graph in double precision, or a model fitted with a larger alpha, keeps": (
        "--number double keeps"
    ),
    r" Pass is_held_out=False, or other rows\.": " Errors on them look too small.",
    r"^X holds the model's": "the table holds the model's",
    r" A loss with sharper corners [^.]*\.": " Another --loss may do.",
    r"end the calling code too": "end the command",
    r" With check=False you get the graph as it is\.": "",
    r"X_train does not hold the model's support points: .*": (
        "The table does not hold the points of the model: it is not that of the fit."
    ),
    r": load it as it was saved, and save it with pursuit\.save": "",
    r",? (or )?[Ss]ave (it|the model) with (pursuit|model)\.save\S*( instead)?": "",
    r"the model after one step": "the model of one point",
    r"\bmax_bytes=(\d+)": r"--max-bytes \1",
    r"\bmax_memory=": "--max-memory ",
    r"\bmax_memory\b": "--max-memory",
    r"\bmax_support=": "--points ",
    r"\b(loss|kernel|number)='([^']+)'": r"--\1 \2",
    r"\bsample_weight\b": "--weights",
    r"\bsupport points\b": "points",
    r"\bfeature(s?)\b": r"column\1",
    r"^y (holds|has|varies)\b": r"the target \1",
}
_PATTERNS = tuple((re.compile(old), new) for old, new in _WORDS.items())


def in_command_words(text: object) -> str:
    """Return a message in one line, with options where the library has parameters."""
    line = " ".join(str(text).split())
    for pattern, new in _PATTERNS:
        line = pattern.sub(new, line)
    return " ".join(line.split())
