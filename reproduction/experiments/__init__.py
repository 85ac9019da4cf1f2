"""The experiments, one module per family, in the order of the papers.

Vincent (2003): `usps_digits` Table 9.1, `mushrooms` 9.2, `thirds` 9.3, `margin_losses`
Figure 9.5, `planes` 9.6 and 9.7; `local_neighbors` Table 11.1, `reduced_neighbors`
11.2, `neighbor_figures` Figures 11.2 and 11.3; `spirals` Table 13.1 and Figure 13.2,
`digit_densities` Table 13.2, `density_classifiers` 13.3 and 13.4. Popovici and Thiran
(2003): `adaptive`. Hussain and Shawe-Taylor (2008): `matching_theory`. All available
data sets: `survey`. Defaults beside boosted trees: `tables`.

Each module has a list ``EXPERIMENTS``. The modules do not import each other; shared
code is in `reproduction.methods` and `reproduction.protocols`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from reproduction.experiment import Experiment

from . import (
    adaptive,
    density_classifiers,
    digit_densities,
    local_neighbors,
    margin_losses,
    matching_theory,
    mushrooms,
    neighbor_figures,
    planes,
    reduced_neighbors,
    spirals,
    survey,
    tables,
    thirds,
    usps_digits,
)

# Add the module of a new family here.
FAMILIES = (
    usps_digits,
    mushrooms,
    thirds,
    margin_losses,
    planes,
    local_neighbors,
    reduced_neighbors,
    neighbor_figures,
    spirals,
    digit_densities,
    density_classifiers,
    adaptive,
    matching_theory,
    survey,
    tables,
)

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment for family in FAMILIES for experiment in family.EXPERIMENTS
)


def find(names: Iterable[str]) -> list[Experiment]:
    """Return the experiments with these names, each once, in the order of the papers.

    Raises
    ------
    ValueError
        If a name is unknown; the message suggests similar ones.
    """
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    requested = set()
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=3)
            hint = f" (did you mean {' or '.join(close)}?)" if close else ""
            raise ValueError(f"unknown experiment {name!r}{hint}; --list names all")
        requested.add(name)
    return [experiment for name, experiment in known.items() if name in requested]
