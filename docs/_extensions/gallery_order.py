"""The order of the gallery: what needs the least explanation comes first."""

from pathlib import Path

PLAINEST_FIRST = (
    "first_ten_minutes",
    "decision_boundary",
    "one_dimensional",
    "sizes",
    "importances",
    "displays",
    "shapley",
    "learned_metric",
    "intervals",
    "calibration",
    "quantiles",
    "losses",
    "ranking",
    "far_cluster",
    "semi_parametric",
    "two_scales",
    "manifold_parzen",
    "novelty",
    "local_hulls",
    "neighbors_and_penalty",
    "sparse_local_models",
    "two_views",
    "bounds_on_components",
    "bound_on_regression",
)


def plainest_first(filename):
    """Return the place of an example; those that are not listed come last, by name."""
    name = Path(filename).stem.removeprefix("plot_")
    known = name in PLAINEST_FIRST
    return (PLAINEST_FIRST.index(name) if known else len(PLAINEST_FIRST), name)
