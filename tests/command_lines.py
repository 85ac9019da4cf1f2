"""Run the command line in this process, on small tables."""

import math

import numpy as np

from pursuit import cli

# Fits in a fraction of a second.
FAST = ["--kernel", "rbf", "--points", "6"]


def run(capsys, *words):
    """Run a command; return its exit status and what it wrote."""
    capsys.readouterr()
    try:
        status = cli.main([str(word) for word in words])
    except SystemExit as error:  # what the parser refuses
        status = error.code
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def succeed(capsys, *words):
    """Run a command that must succeed; return what it wrote."""
    status, out, err = run(capsys, *words)
    assert status == 0, err
    return out, err


def houses(n=120, seed=0):
    """Return a header and rows: numbers, words, dates, missing cells, two targets."""
    rng = np.random.default_rng(seed)
    header = ["area", "rooms", "town", "sold", "price", "sunny"]
    rows = []
    for _ in range(n):
        area, rooms = rng.uniform(30, 200), rng.integers(1, 6)
        town = str(rng.choice(["Bonn", "Köln", "Aachen"]))
        price = 3 * area + 20 * rooms + {"Bonn": 50, "Köln": 90}.get(town, 0)
        day = f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
        cell = "" if rng.random() < 0.1 else f"{area:.1f}"
        sunny = "yes" if math.sin(area / 20) > 0 else "no"
        rows.append([cell, str(rooms), town, day, f"{price:.2f}", sunny])
    return header, rows


def text_of(header, rows, delimiter=","):
    """Return a table as text."""
    lines = [delimiter.join(line) for line in [header, *rows]]
    return "\n".join(lines) + "\n"
