"""All experiments, in the order of the papers."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .experiment import Experiment
from .experiments import (
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
    thirds,
    usps_digits,
)

# One module per family; add a new one here and to the layers in pyproject.toml.
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
    wanted = set()
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=3)
            hint = f" (did you mean {' or '.join(close)}?)" if close else ""
            raise ValueError(
                f"unknown experiment {name!r}{hint}; pursuit reproduce --list names all"
            )
        wanted.add(name)
    return [experiment for name, experiment in known.items() if name in wanted]
