"""Fits by trips over the rows, block by block: the rows need not fit in memory.

A *trip* visits all blocks and brings a *tally* back; *visits* say where blocks are.

visits.py      trips, tallies, and visits to blocks in this process
checkpoint.py  the file from which a killed run goes on
blocks.py      blocks, checked and coded as targets and weights

trips of a fit, in their order, and what follows from their tallies:

looking.py     Look: counts, ranges, classes
drawing.py     Draw: candidates and a part of the rows, drawn by content
lowest.py      the rows that were drawn
summing.py     Sum: inner products, on fitted and on held-out rows
procedure.py   from the sums to a path and a size on it
refining.py    Slope: slope and curvature of a loss, and Newton's method on them
refitting.py   the path with coefficients under a loss

trips of sparse kernel PCA:

sampling.py    DrawSample: rows without targets
projecting.py  Project: coordinates in the span of chosen points
"""

from .checkpoint import Checkpoint
from .visits import LocalVisits, Tally, Trip, Visits

__all__ = ["Checkpoint", "LocalVisits", "Tally", "Trip", "Visits"]
