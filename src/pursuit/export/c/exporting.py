"""Write a fitted model as one header of C: `to_c`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

import pursuit
from pursuit._parameters import is_whole
from pursuit._warnings import warn
from pursuit._writing import write_whole
from pursuit.export.formula import Formula
from pursuit.export.preparation import formula_of

from .body import Body
from .budget import Choice, largest_that_fits
from .costs import Costs, costs_of
from .fixed import FixedProgram
from .floating import floating_body
from .header import SelfTest, checked_name, header
from .lowering import lowered
from .mathematics import EXPONENTIAL_ERROR
from .rounding import rounding_bounds
from .text import Number
from .typical import typical_rows

__all__ = ["CCode", "to_c"]

_NUMBERS = ("float", "double", "fixed")
# Rows that bounds are computed for, if more are given.
_MOST_ROWS = 2000
# Fewer correct decimal digits are worth a warning.
_FEW_DIGITS = 3.0


@dataclass(frozen=True, repr=False)
class CCode:
    """A model in C, what it costs, and how far it is from the model.

    Attributes
    ----------
    code : str
        The header.
    name : str
        Prefix of its names.
    number : {"float", "double", "fixed"}
    costs : Costs
        Bytes of flash and stack, and work for a row.
    error_bound : ndarray of shape (n_outputs,)
        How far a value may be from the model's in exact numbers. With "fixed" for all
        rows within the ranges, with "float" and "double" on the rows that were given,
        or on the support points.
    n_functions : int
        Functions of the exported model: its support points, with a kernel.
    size : int or None
        Steps of the path that fit into ``max_bytes``; None without it.
    note : str
        What ``max_bytes`` meant.
    input_bits, output_bits : ndarray of int or None
        With "fixed", bits of each column of a row and of each value: a whole number
        stands for itself divided by 2^bits.
    """

    code: str
    name: str
    number: str
    costs: Costs
    error_bound: np.ndarray
    n_functions: int
    size: int | None = None
    note: str = ""
    input_bits: np.ndarray | None = None
    output_bits: np.ndarray | None = None
    _formula: Formula | None = field(default=None, compare=False)
    _program: FixedProgram | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.code

    def __repr__(self) -> str:
        worst = float(self.error_bound.max(initial=0.0))
        parts = [str(self.costs), f"values within {worst:.2g} of the model", self.note]
        return f"<C {self.name}: {'; '.join(filter(None, parts))}>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the header into a file."""
        write_whole(path, self.code.encode("utf-8"))

    def rows(self, X: Any) -> np.ndarray:
        """Return rows as the device takes them.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Raw rows, as for the model.

        Returns
        -------
        rows : ndarray of shape (n, d)
            Of float32, float64 or, with "fixed", int32; words are codes.
        """
        assert self._formula is not None
        coded = self._formula.coded(X)
        if self._program is not None:
            return self._program.rows(coded)
        return coded.astype(np.float32 if self.number == "float" else np.float64)

    def values(self, X: Any) -> np.ndarray:
        """Return the values that the device answers, with "fixed" bit by bit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Raw rows, as for the model.

        Returns
        -------
        values : ndarray of shape (n, n_outputs)
            Real numbers. Only "fixed" is the same on every device.
        """
        if self._program is None:
            raise ValueError(
                f"number={self.number!r} rounds differently from device to device, by "
                "at most error_bound: only number='fixed' is known bit by bit."
            )
        return self._program.real(self._program.run(self.rows(X)))


def to_c(
    model: Any,
    path: str | PathLike[str] | None = None,
    *,
    number: str = "float",
    max_bytes: int | None = None,
    name: str = "model",
    X: Any = None,
    self_test: int = 4,
    with_libm: bool = True,
    input_bits: int | Sequence[int] | None = None,
    table_bits: int = 32,
) -> CCode:
    """Write a fitted model as one C99 header, for microcontrollers and elsewhere.

    The header holds constant arrays and loops: no allocation, nothing that changes
    between calls. With the name "model" it has ``model_values(row, out)``,
    ``model_predict``, ``model_labels``, ``model_probabilities`` if the loss has them,
    and ``model_selftest()``, which is 0 if a device computes what was stated here. What
    is not called takes no flash.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor, Pipeline or Formula
        Fitted. A pipeline's preparation becomes part of the code.
    path : str or path, optional
        File to write.
    number : {"float", "double", "fixed"}, default="float"
        What the device computes with. "fixed" uses whole numbers of 32 and 64 bits
        only, for chips without floating-point numbers.
    max_bytes : int, optional
        Flash for constants and code. The largest model of the path that fits is
        exported, at most the chosen size.
    name : str, default="model"
        Prefix of all names, and of the macros in capitals.
    X : array-like or DataFrame of shape (n, d), optional
        Raw rows that are typical of use. The self test and the bound of rounding errors
        are made with them; with "fixed" they set the range of each column, and numbers
        outside are moved to its end. By default the support points, and for ranges half
        as much beyond them on each side.
    self_test : int, default=4
        Rows of the self test, 0 for none.
    with_libm : bool, default=True
        Whether functions such as ``expf`` come from libm, or from the header itself.
        "fixed" never needs libm.
    input_bits : int or sequence of int, optional
        With "fixed", bits of each column of a row: 0 for a sensor's whole numbers. By
        default as many as the range leaves room for.
    table_bits : {32, 16}, default=32
        With "fixed", bits of a stored coordinate. 16 take half the flash, and cost
        digits: look at ``error_bound``.

    Returns
    -------
    code : CCode
        The header as ``code``, with ``costs`` and ``error_bound``.

    Raises
    ------
    UnsupportedError
        If a part of the model cannot be written; the message says what to do.
    ValueError
        If not even one point fits into ``max_bytes``.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import KMPRegressor
    >>> from pursuit.export import to_c
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KMPRegressor("rbf", gamma=1.0, max_support=5, selection=None)
    >>> code = to_c(model.fit(X, np.sin(X[:, 0])))
    >>> code.costs.table_bytes, code.costs.functions
    (40, {'exp': 5})
    """
    checked_name(name)
    options = _Options(
        number, name, X, self_test, with_libm, input_bits, table_bits
    ).checked()
    choice = Choice(formula_of(model))
    if max_bytes is not None:
        if not is_whole(max_bytes, 1):
            raise ValueError(
                f"max_bytes={max_bytes!r} must be a whole number of bytes, or None."
            )
        choice = largest_that_fits(
            model, int(max_bytes), lambda formula: _made(formula, options).costs
        )
    code = _written(choice, options)
    if path is not None:
        code.save(path)
    return code


@dataclass(frozen=True)
class _Options:
    number: str
    name: str
    X: Any
    self_test: int
    with_libm: bool
    input_bits: int | Sequence[int] | None
    table_bits: int

    def checked(self) -> _Options:
        """Return these options, or raise."""
        if self.number not in _NUMBERS:
            raise ValueError(f"number={self.number!r} must be one of {_NUMBERS}.")
        if not is_whole(self.self_test, 0):
            raise ValueError(
                f"self_test={self.self_test!r} must be a number of rows, 0 for no self "
                "test; the rows come from X."
            )
        if self.table_bits not in (16, 32):
            raise ValueError(f"table_bits={self.table_bits!r} must be 16 or 32.")
        if self.number != "fixed" and (
            self.input_bits is not None or self.table_bits != 32
        ):
            raise ValueError(
                f"input_bits and table_bits need number='fixed', not {self.number!r}."
            )
        return self

    def bits(self, n_inputs: int) -> np.ndarray | None:
        """Return the bits of each column, if they are given."""
        if self.input_bits is None:
            return None
        given = np.ravel(np.asarray(self.input_bits))
        if given.dtype.kind not in "iu" or len(given) not in (1, n_inputs):
            raise ValueError(
                f"input_bits={self.input_bits!r} must be a whole number, or one for "
                f"each of the {n_inputs} columns."
            )
        return np.broadcast_to(given.astype(int), n_inputs)


@dataclass(frozen=True)
class _Made:
    """A formula in C, before the header is around it."""

    small: Formula
    rows: np.ndarray
    body: Body
    costs: Costs
    program: FixedProgram | None = None


def _made(formula: Formula, options: _Options) -> _Made:
    small = lowered(formula)
    rows = _rows(formula, options.X)
    program = None
    if options.number == "fixed":
        bits = options.bits(len(formula.inputs))
        rows = _widened(formula, rows) if options.X is None else rows
        program = FixedProgram(small, options.name, rows, bits, options.table_bits)
        body, size = program.body(), 4
    else:
        number = Number(options.number)
        body = floating_body(small, options.name, number, options.with_libm)
        size = number.n_bytes
    n = min(options.self_test, len(rows))
    numbers = n * (len(formula.inputs) + formula.n_outputs)
    numbers += formula.n_outputs if n and not program else 0  # tolerances
    costs = costs_of(body, options.number, formula.n_functions, size * numbers)
    return _Made(small, rows, body, costs, program)


def _rows(formula: Formula, X: Any) -> np.ndarray:
    if X is None:
        return typical_rows(formula)
    rows = formula.coded(X)
    if not len(rows):
        raise ValueError("X has no rows: give some that are typical of use, or None.")
    return rows


def _widened(formula: Formula, rows: np.ndarray) -> np.ndarray:
    """Return support points with two rows more, half their range beyond the ends."""
    numbers = [each.categories is None for each in formula.inputs]
    low, high = rows.min(axis=0), rows.max(axis=0)
    more = np.where(numbers, 0.5 * (high - low), 0.0)
    return np.vstack([rows, low - more, high + more])


def _written(choice: Choice, options: _Options) -> CCode:
    made = _made(choice.formula, options)
    if made.program is None:
        test, bound, said = _tried(choice.formula, made, options)
    else:
        rows, n = made.rows, options.self_test
        test, bound, said = _tried_fixed(made.program, rows, n)
        _warn_of_coarse_steps(choice.formula.values(rows), bound)
    about = [
        f"{options.name}: a model in C99, by pursuit {pursuit.__version__}.",
        "",
        *made.costs.lines(),
        *said,
        *([choice.note + "."] if choice.note else []),
    ]
    return CCode(
        code=header(made.small, made.body, options.name, about, test),
        name=options.name,
        number=options.number,
        costs=made.costs,
        error_bound=bound,
        n_functions=choice.formula.n_functions,
        size=choice.size,
        note=choice.note,
        input_bits=None if made.program is None else made.program.columns.bits,
        output_bits=None if made.program is None else made.program.bits,
        _formula=choice.formula,
        _program=made.program,
    )


def _tried(
    formula: Formula, made: _Made, options: _Options
) -> tuple[SelfTest | None, np.ndarray, list[str]]:
    """Return the self test in floating-point numbers, and what rounding may do."""
    number = Number(options.number)
    rows = made.rows[:: max(1, -(-len(made.rows) // _MOST_ROWS))]
    own = 0.0 if options.with_libm else EXPONENTIAL_ERROR[number.word]
    bounds = rounding_bounds(made.small, rows, number, own)
    values = formula.values(rows)
    usable = np.isfinite(values).all(axis=1) & np.isfinite(bounds).all(axis=1)
    if len(rows) and not usable.any():
        raise ValueError(
            "No row of X has an answer, so that nothing could be checked: pass rows "
            "for which the model predicts, without NaN or infinities that it does not "
            "take."
        )
    rows, values, bounds = rows[usable], values[usable], bounds[usable]
    bound = bounds.max(axis=0, initial=0.0)
    _warn_of_lost_digits(values, bounds, number)
    source = "the support points" if options.X is None else f"{len(rows)} rows of X"
    said = [f"Rounding moves values by at most {bound.max():.2g} on {source}."]
    if not options.with_libm and "exp" in made.costs.functions:
        said.append(f"The exponential is right up to {own:g} of its value.")
    chosen = _spread_out(len(rows), options.self_test)
    if not len(chosen):
        return None, bound, said
    # Twice the bound: the expected value is rounded, too.
    tolerances = 2.0 * bounds[chosen].max(axis=0) + number.unit
    literals = [
        [number.literal(float(v)) for v in part.ravel()]
        for part in (rows[chosen], values[chosen], tolerances)
    ]
    test = SelfTest(len(chosen), literals[0], literals[1], literals[2])
    return test, bound, said


def _tried_fixed(
    program: FixedProgram, rows: np.ndarray, n: int
) -> tuple[SelfTest | None, np.ndarray, list[str]]:
    """Return the self test in whole numbers, which every device passes exactly."""
    bound = np.asarray(program.error)
    whole = program.rows(rows[_spread_out(len(rows), n)])
    if not len(whole):
        return None, bound, []
    values = program.run(whole)
    literals = [
        [str(v) if v > -(2**31) else "INT32_MIN" for v in part.ravel().tolist()]
        for part in (whole, values)
    ]
    return SelfTest(len(whole), literals[0], literals[1]), bound, []


def _spread_out(n_rows: int, n: int) -> np.ndarray:
    """Return the places of at most n rows, from the first to the last."""
    return np.unique(np.linspace(0, n_rows - 1, min(n, n_rows)).astype(int))


def _warn_of_coarse_steps(values: np.ndarray, bound: np.ndarray) -> None:
    """Warn if fixed-point numbers leave few digits of the values."""
    values = values[np.isfinite(values).all(axis=1)]
    scale = np.abs(values).max(axis=0, initial=0.0)
    # The bound is for the worst row; most are an order nearer.
    if np.any(bound > 10.0 ** (1.0 - _FEW_DIGITS) * np.where(scale > 0, scale, 1.0)):
        warn(
            f"number='fixed' leaves values within {bound.max():.2g}, of up to "
            f"{scale.max():.2g}: large coefficients cancel, or the rows are coarse. "
            "Fit with a larger alpha, raise input_bits or table_bits, or export with "
            "number='float'."
        )


def _warn_of_lost_digits(
    values: np.ndarray, bounds: np.ndarray, number: Number
) -> None:
    if not len(values):
        return
    # Most rows count: a few may lie where a step of the preparation is steep.
    bound = np.quantile(bounds, 0.9, axis=0)
    scale = np.abs(values).max(axis=0)
    with np.errstate(divide="ignore"):
        digits = -np.log10(bound / np.where(scale > 0, scale, 1.0))
    least = max(float(digits.min()), 0.0)
    if least < _FEW_DIGITS:
        remedy = "Export with number='double'" if number.is_float else "Scale the rows"
        warn(
            f"number={number.word!r} leaves {least:.1f} decimal digits of the values: "
            "large coefficients cancel, or the preparation does. "
            f"{remedy}, or fit with a larger alpha."
        )
