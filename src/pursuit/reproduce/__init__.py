"""The papers' tables and figures, made again from the data by one command.

``pursuit reproduce table-9.3`` runs an experiment; `command` does what the command line
asks for. An experiment (`experiment`) is a value: tasks, and a report made from their
results. `experiments` has a module for each family of them, made of `methods` and
`protocols`; `registry` lists them all. `running` runs tasks and keeps each result
(`cache`), with the data and versions that it comes from (`origin`), so that a run that
was interrupted goes on; `results` writes what was measured and `page` sets it beside
what was published; `pictures` and `wording` are shared by reports.
"""
