"""Protocols: rows for training, validation and test, and statistical comparisons."""
