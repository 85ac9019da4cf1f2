"""A formula as a small device computes it: affine steps folded into the kernels.

Scaling a column costs nothing if the map before a kernel does it. Affine steps are
therefore moved behind all others, joined, and multiplied into the map of each kernel;
what is left of the preparation are replacements and look-ups.

Letters as in `pursuit.export.formula`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pursuit.export.formula import (
    Combination,
    Comparison,
    Formula,
    KernelGroup,
    MonomialGroup,
)
from pursuit.export.steps import (
    Affine,
    Branches,
    Clip,
    Fill,
    Flag,
    Linear,
    OneHot,
    Step,
    Take,
)

__all__ = [
    "RowMap",
    "leaves_of",
    "lowered",
    "maps_of",
    "width_after",
    "width_after_all",
]


@dataclass(frozen=True, eq=False)
class RowMap:
    """y = (x - origin) A, shared by the comparisons that need the same."""

    origin: np.ndarray | None
    factor: np.ndarray | None

    @property
    def is_identity(self) -> bool:
        """Whether y is x."""
        return self.origin is None and self.factor is None

    def width(self, d: int) -> int:
        """Return the number r of coordinates of y for d features."""
        return d if self.factor is None else self.factor.shape[-1]

    def key(self) -> tuple[bytes | None, ...]:
        """Return what equal maps share."""
        parts = (self.origin, self.factor)
        return tuple(
            None if p is None else bytes(str(p.shape), "ascii") + p.tobytes()
            for p in parts
        )


def lowered(formula: Formula) -> Formula:
    """Return a formula of the same values whose preparation holds few affine steps.

    Its comparisons may subtract an origin before any quantity, products too.
    """
    steps, last = _affine_last(formula.steps, len(formula.inputs))
    if last is not None:
        steps.append(last)
    # None of a model without points.
    groups = tuple(group for group in formula.groups if group.n_functions)
    while steps and all(_can_fold(group, steps[-1]) for group in groups):
        step = steps.pop()
        groups = tuple(_with_leaves(group, _folding(step)) for group in groups)
    groups = tuple(_with_leaves(group, _simplified) for group in groups)
    return replace(formula, steps=tuple(steps), groups=groups)


def leaves_of(node: Comparison | Combination) -> list[Comparison]:
    """Return the comparisons of a kernel, from left to right."""
    if isinstance(node, Comparison):
        return [node]
    return [leaf for operand in node.operands for leaf in leaves_of(operand)]


def maps_of(formula: Formula) -> list[RowMap]:
    """Return the different maps of all comparisons."""
    found: dict[tuple[bytes | None, ...], RowMap] = {}
    for group in formula.groups:
        if isinstance(group, KernelGroup):
            for leaf in leaves_of(group.kernel):
                row_map = RowMap(leaf.origin, leaf.factor)
                found.setdefault(row_map.key(), row_map)
    return list(found.values())


def width_after(step: Step, width: int) -> int:
    """Return the number of columns after a step."""
    if isinstance(step, Take):
        return len(step.columns)
    if isinstance(step, OneHot):
        return step.n_outputs
    if isinstance(step, Linear):
        return step.matrix.shape[1]
    if isinstance(step, Branches):
        return sum(width_after_all(branch, width) for branch in step.branches)
    return width


def width_after_all(steps: Sequence[Step], width: int) -> int:
    """Return the number of columns after all steps."""
    for step in steps:
        width = width_after(step, width)
    return width


# -- affine steps to the end -------------------------------------------------------


def _affine_last(steps: Sequence[Step], width: int) -> tuple[list[Step], Affine | None]:
    """Return the other steps, and the one affine step that comes after them."""
    done: list[Step] = []
    last: Affine | None = None
    for step in steps:
        if isinstance(step, Affine):
            last = step if last is None else _composed(last, step)
        elif last is None and not isinstance(step, Branches):
            done.append(step)
        else:
            moved, last = _exchanged(last, step, width)
            done.extend(moved)
        width = width_after(step, width)
    return done, last


def _composed(first: Affine, second: Affine) -> Affine:
    return Affine(first.scale * second.scale, first.shift * second.scale + second.shift)


def _exchanged(
    affine: Affine | None, step: Step, width: int
) -> tuple[list[Step], Affine | None]:
    """Return steps and an affine one after them that do what ``affine, step`` do."""
    if isinstance(step, Branches):
        return _exchanged_with_branches(affine, step, width)
    assert affine is not None
    if isinstance(step, Take):
        moved = Affine(affine.scale[step.columns], affine.shift[step.columns])
        return [step], moved
    if affine.scale.all():
        if isinstance(step, Clip):
            ends = [
                (end - affine.shift) / affine.scale for end in (step.low, step.high)
            ]
            return [Clip(np.minimum(*ends), np.maximum(*ends))], affine
        if isinstance(step, Fill) and np.isnan(step.missing):
            values = (step.values - affine.shift) / affine.scale
            return [Fill(values, step.missing)], affine
        if isinstance(step, Flag) and np.isnan(step.missing):
            return [step], None
    return [affine, step], None


def _exchanged_with_branches(
    affine: Affine | None, step: Branches, width: int
) -> tuple[list[Step], Affine | None]:
    before = () if affine is None else (affine,)
    parts = [_affine_last((*before, *branch), width) for branch in step.branches]
    moved = Branches(tuple(tuple(steps) for steps, _ in parts))
    if all(last is None for _, last in parts):
        return [moved], None
    widths = [width_after_all(branch, width) for branch in step.branches]
    scales = [
        np.ones(w) if a is None else a.scale
        for (_, a), w in zip(parts, widths, strict=True)
    ]
    shifts = [
        np.zeros(w) if a is None else a.shift
        for (_, a), w in zip(parts, widths, strict=True)
    ]
    return [moved], Affine(np.concatenate(scales), np.concatenate(shifts))


# -- steps into kernels ------------------------------------------------------------


def _with_leaves(
    group: KernelGroup | MonomialGroup, change: Callable[[Comparison], Comparison]
) -> KernelGroup | MonomialGroup:
    if isinstance(group, MonomialGroup):
        return group
    return replace(group, kernel=_changed(group.kernel, change))


def _changed(
    node: Comparison | Combination, change: Callable[[Comparison], Comparison]
) -> Comparison | Combination:
    if isinstance(node, Comparison):
        return change(node)
    operands = tuple(_changed(operand, change) for operand in node.operands)
    return replace(node, operands=operands)


def _can_fold(group: KernelGroup | MonomialGroup, step: Step) -> bool:
    """Return whether the map of each comparison can do the step."""
    if isinstance(group, MonomialGroup):
        return False  # a product of features needs the prepared columns themselves
    if isinstance(step, Affine):
        return bool(step.scale.all())
    if not isinstance(step, Linear):
        return False
    d, w = step.matrix.shape
    return all(
        (leaf.origin is None or _is_distance(leaf))
        and d * _width_of(leaf) <= d * w + w * _width_of(leaf)
        for leaf in leaves_of(group.kernel)
    )


def _width_of(leaf: Comparison) -> int:
    return leaf.centers.shape[1]


def _folding(step: Step) -> Callable[[Comparison], Comparison]:
    """Return the change that makes a comparison see the row before the step."""
    if isinstance(step, Affine):
        return partial(_after_affine, step)
    assert isinstance(step, Linear)
    return partial(_after_linear, step)


def _after_affine(step: Affine, leaf: Comparison) -> Comparison:
    origin = -step.shift if leaf.origin is None else leaf.origin - step.shift
    factor = leaf.factor
    if factor is None:
        factor = step.scale
    else:
        factor = factor * (step.scale if factor.ndim == 1 else step.scale[:, None])
    return replace(leaf, origin=origin / step.scale, factor=factor)


def _after_linear(step: Linear, leaf: Comparison) -> Comparison:
    factor, centers = step.matrix, leaf.centers
    if leaf.factor is not None and leaf.factor.ndim == 1:
        factor = factor * leaf.factor
    elif leaf.factor is not None:
        factor = factor @ leaf.factor
    if leaf.origin is not None:
        centers = centers + _mapped(leaf.origin, leaf.factor)
    return replace(leaf, origin=None, factor=factor, centers=centers)


def _mapped(x: np.ndarray, factor: np.ndarray | None) -> np.ndarray:
    if factor is None:
        return x
    return x * factor if factor.ndim == 1 else x @ factor


def _simplified(leaf: Comparison) -> Comparison:
    if leaf.origin is not None and not leaf.origin.any():
        leaf = replace(leaf, origin=None)
    if leaf.factor is None and leaf.origin is not None and _is_distance(leaf):
        # Centers that are moved back save a vector of memory in the device.
        leaf = replace(leaf, origin=None, centers=leaf.centers + leaf.origin)
    return leaf


def _is_distance(leaf: Comparison) -> bool:
    return leaf.quantity.endswith("distance")
