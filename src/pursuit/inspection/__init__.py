"""Pictures of fitted models, like scikit-learn's displays."""

from ._bound import BoundDisplay
from ._density import DensityDisplay
from ._importances import ImportancesDisplay
from ._neighbors import NeighborsDisplay
from ._path import PathDisplay
from ._search import SearchDisplay
from ._support import SupportDisplay

__all__ = [
    "BoundDisplay",
    "DensityDisplay",
    "ImportancesDisplay",
    "NeighborsDisplay",
    "PathDisplay",
    "SearchDisplay",
    "SupportDisplay",
]
