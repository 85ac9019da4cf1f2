"""Amounts of memory, as numbers and as texts."""

from types import SimpleNamespace

import numpy as np
import pytest
from naming import named

from pursuit import _limits
from pursuit._limits import amount, budget


@pytest.mark.parametrize(
    "given, expected",
    [
        (1, 1),
        (1_000_000, 1_000_000),
        (1.5e9, 1_500_000_000),
        (np.int64(4096), 4096),
        (np.float64(4096), 4096),
        (float("inf"), 1 << 62),
        ("100", 100),
        ("100b", 100),
        ("1k", 1 << 10),
        ("1 KiB", 1 << 10),
        ("1kb", 1 << 10),
        ("2 MiB", 2 << 20),
        ("1 GiB", 1 << 30),
        ("1gib", 1 << 30),
        ("  0.5  GB ", 1 << 29),
        (".5g", 1 << 29),
        ("1 TiB", 1 << 40),
    ],
)
def test_amounts(given, expected):
    assert budget(given) == expected
    assert isinstance(budget(given), int)


@pytest.mark.parametrize("n_bytes", [1, 1000, 1024, 99_999, 3 << 19, 10**9, 5e12])
def test_texts_of_amounts_are_read_again(n_bytes):
    assert n_bytes <= budget(amount(n_bytes)) <= 1.1 * n_bytes


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        0.0,
        -2.5,
        float("nan"),
        True,
        False,
        "",
        "much",
        "0",
        "0 GiB",
        "-1 GiB",
        "1 XiB",
        "1.2.3 GiB",
        ".",
        "1 GiB of it",
        [1],
        {},
    ],
    ids=named,
)
def test_what_is_no_amount(given):
    with pytest.raises(ValueError, match="max_memory=.*is not an amount of memory"):
        budget(given)


def test_none_is_a_share_of_what_is_free():
    assert budget(None) >= 1 << 28


@pytest.mark.parametrize("error", [AttributeError, OSError, ValueError])
def test_none_on_a_machine_that_does_not_tell(monkeypatch, error):
    def unknown(name):
        raise error

    monkeypatch.setattr(_limits.os, "sysconf", unknown)
    assert budget(None) == 1 << 30


def test_none_is_half_of_what_is_free(monkeypatch):
    pages = {"SC_AVPHYS_PAGES": 1 << 20, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(_limits.os, "sysconf", pages.__getitem__)
    assert budget(None) == 1 << 31


def test_freed_memory_goes_back_where_the_c_library_can(monkeypatch):
    asked = []
    library = SimpleNamespace(malloc_trim=asked.append)
    monkeypatch.setattr(_limits, "_c_library", lambda: library)
    _limits.return_freed_memory()
    assert asked == [0]
    for library in (SimpleNamespace(), None):
        monkeypatch.setattr(_limits, "_c_library", lambda library=library: library)
        _limits.return_freed_memory()
