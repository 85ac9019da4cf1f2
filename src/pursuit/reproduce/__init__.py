"""Reproduce the tables and figures of the papers with one command.

``pursuit reproduce table-9.3`` runs an experiment; `command` implements the command
line. An experiment (`experiment`) consists of tasks and a report made from their
results. `experiments` has one module per family, built from `methods` and `protocols`;
`registry` lists all experiments. `running` runs tasks and stores each result (`cache`)
with the data, versions and sources that it comes from (`origin`), so that an
interrupted run can continue. `results` writes the measurements, and `page` compares
them with the published figures; `pictures` and `wording` are shared by reports.
"""
