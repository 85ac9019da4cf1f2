"""What a model costs on a device, told before it is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .body import Body

__all__ = ["Costs"]


@dataclass(frozen=True)
class Costs:
    """Flash, memory and work of a model in C.

    Attributes
    ----------
    number : {"float", "double", "fixed"}
    n_functions : int
        Functions of the model: the support points, with a kernel.
    table_bytes : int
        Bytes of constants, exactly.
    code_bytes : int
        Estimate of the code of values, predictions and probabilities, for a Cortex-M
        with -Os; code of libm and of floating-point numbers in software not counted.
    self_test_bytes : int
        Constants of the self test, in flash only if it is called.
    stack_bytes : int
        Estimate of the stack at its deepest, functions of libm not counted.
    multiply_adds : int
        Multiplications with additions for one row.
    functions : dict from str to int
        Exponentials, roots and so on for one row.
    """

    number: str
    n_functions: int
    table_bytes: int
    code_bytes: int
    self_test_bytes: int
    stack_bytes: int
    multiply_adds: int
    functions: dict[str, int]

    @property
    def flash_bytes(self) -> int:
        """Bytes of flash: constants and code, without the self test."""
        return self.table_bytes + self.code_bytes

    def lines(self) -> list[str]:
        """Return the costs in short lines."""
        calls = "".join(f", {n} {name}" for name, n in self.functions.items())
        parts = f"{self.table_bytes} of constants, about {self.code_bytes} of code"
        flash = f"{self.flash_bytes} bytes of flash ({parts})"
        work = f"for a row {self.multiply_adds} multiply-adds{calls}."
        functions = "function" if self.n_functions == 1 else "functions"
        return [
            f"{self.n_functions} {functions} in {self.number}: {flash},",
            f"about {self.stack_bytes} bytes of stack; {work}",
        ]

    def __str__(self) -> str:
        return " ".join(self.lines())[:-1]


# Bytes of code for each part, measured: values, predictions and probabilities of many
# models, compiled by clang -Os for Cortex-M0 and M4, and 8 % more. Parts that are not
# here were part of another in every model.
_CODE = Counter(
    {
        "classes": 42,
        "exp": 22,
        "exponential": 30,
        "group": 74,
        "identity": 12,
        "leaf": 34,
        "log": 8,
        "logistic": 106,
        "logistic-ovr": 252,
        "matrix": 90,
        "normal_quantile": 626,
        "own exp": 276,
        "own expm1": 112,
        "own log": 376,
        "own log1p": 52,
        "own sqrt": 204,
        "own tanh": 80,
        "polynomial": 34,
        "power": 102,
        "scales": 34,
        "share": 322,
        "softmax": 188,
        "sqrt": 56,
        "step": 30,
        "tanh": 10,
        "fixed classes": 152,
        "fixed exp": 350,
        "fixed leaf": 388,
        "fixed logistic": 64,
        "fixed logistic-ovr": 348,
        "fixed numbers": 58,
        "fixed softmax": 380,
        "fixed sqrt": 248,
        "fixed step": 24,
    }
)
_CODE_BASE = 42
# Numbers of 64 bits take two registers.
_DOUBLE = 1.3


def code_bytes(parts: Counter[str], number: str) -> int:
    """Return an estimate of the code with these parts."""
    total = _CODE_BASE + sum(_CODE[part] * n for part, n in parts.items())
    return round(total * (_DOUBLE if number == "double" else 1.0))


def costs_of(body: Body, number: str, n_functions: int, self_test: int) -> Costs:
    """Return the costs of a body."""
    return Costs(
        number=number,
        n_functions=n_functions,
        table_bytes=body.table_bytes,
        code_bytes=code_bytes(body.parts, number),
        self_test_bytes=self_test,
        stack_bytes=body.stack_bytes,
        multiply_adds=body.operations.multiply_adds,
        functions=dict(body.operations.functions),
    )
