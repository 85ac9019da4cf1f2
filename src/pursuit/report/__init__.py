"""A report of a fitted model: one HTML file that runs the model in the page.

The file needs no network and no server: it holds the model at many sizes, a sample of
rows, and the code that computes predictions, in plain JavaScript. Python computes what
needs all rows (errors, confusions, calibration); the page computes what the reader asks
for (another size, another row, another column).
"""

from .page import Report, write

__all__ = ["Report", "write"]
