"""What compiled loops may change about arithmetic."""

from __future__ import annotations

# Reordering sums lets LLVM use vector registers; NaN and infinity are preserved.
REORDER = {"reassoc", "contract", "nsz"}
