"""Fitted models as one header of C, for microcontrollers and elsewhere."""

from .costs import Costs
from .exporting import CCode, to_c

__all__ = ["CCode", "Costs", "to_c"]
