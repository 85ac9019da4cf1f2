"""Reproduce the tables and figures of the papers with one command.

``make reproduce REPRODUCE_ARGS="table-9.3"`` runs an experiment. In the root of the
repository, ``python -m reproduction table-9.3`` does the same; `command` is the command
line.

An experiment (`experiment`) consists of tasks and a report made from their results.
`experiments` has one module per family, built from `methods` and `protocols`. `running`
runs tasks and stores each result (`cache`) with the data, versions and sources that it
comes from (`origin`), so that an interrupted run can continue. `results` writes the
measurements, and `page` compares them with the published figures; reports share
`reporting`.
"""
