"""Fits by trips over the rows, block by block: the rows need not fit in memory.

visits.py      a trip, what it brings back, and visits to blocks in this process
checkpoint.py  the file from which a killed run goes on
blocks.py      blocks, checked and coded as targets and weights
looking.py     first trip: counts, ranges, classes
drawing.py     second trip: candidates and a part of the rows, drawn by content
summing.py     third trip: inner products, on fitted and on held-out rows
refining.py    further trips: slope and curvature of a loss
procedure.py   from the sums to a path and a size on it
"""

from .checkpoint import Checkpoint
from .visits import LocalVisits, Tally, Trip, Visits

__all__ = ["Checkpoint", "LocalVisits", "Tally", "Trip", "Visits"]
