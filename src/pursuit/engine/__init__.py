"""The pursuit: atoms, the greedy choice among them, and the record of its steps.

A pursuit knows atoms (functions evaluated on the training rows, stored or in blocks)
and a problem (targets, weights, loss); it never sees ``X`` or an estimator.
"""
