"""Write the golden model files, which hold the promise that files stay readable.

    python tests/make_golden.py NAME ...

A golden file is never written again: one that exists is left as it is. Add files for
new types and for new versions of the format. Beside each is a JSON file with rows and
the answers of the model at them.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from saved_models import MODELS, answers

import pursuit

FOLDER = Path(__file__).parent / "golden"
# Rows that the answers are stored for.
ROWS = 6


def write(name: str) -> None:
    """Write the file of a model of `saved_models`, and its answers."""
    path = FOLDER / f"{name}.pursuit"
    if path.exists():
        sys.exit(f"{path.name} exists: golden files stay as they are")
    model, X = MODELS[name]()
    X = X[:ROWS]
    is_frame = isinstance(X, pd.DataFrame)
    known = {
        "X": X.to_numpy().tolist() if is_frame else X.tolist(),
        "columns": list(X.columns) if is_frame else None,
        "answers": {key: value.tolist() for key, value in answers(model, X).items()},
    }
    pursuit.save(model, path)
    path.with_suffix(".json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        write(name)
