"""The pursuit itself: atoms, the greedy choice among them, and what it records.

A pursuit knows atoms (functions evaluated on the training rows, or asked for in blocks)
and a problem (targets, weights, loss); it never sees ``X`` or an estimator.
"""
