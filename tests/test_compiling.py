"""One line says why a first call takes a moment."""

from types import SimpleNamespace

import numpy as np
import pytest

from pursuit import _compiling


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""
    times = [0.0]
    monkeypatch.setattr(_compiling.time, "perf_counter", lambda: times[0])
    return times


def compile_for(notice, clock, seconds, module="pursuit.engine.gains", inner=0):
    """Tell the notice of a compilation, and of others within it."""
    function = SimpleNamespace(__module__=module)
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
    notice.on_start(event)
    for _ in range(inner):
        compile_for(notice, clock, 0.0)
    clock[0] += seconds
    notice.on_end(event)


def test_long_compilations_are_told_once(clock, caplog):
    notice = _compiling._Notice()
    compile_for(notice, clock, 0.7, inner=2)
    compile_for(notice, clock, 0.7)
    assert not caplog.records
    for _ in range(3):
        compile_for(notice, clock, 0.7)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "compiles its loops" in caplog.text


def test_other_packages_are_not_told_of(clock, caplog):
    notice = _compiling._Notice()
    for _ in range(5):
        compile_for(notice, clock, 9.0, module="other.pursuit")
    assert not caplog.records


def test_compiled_functions_are_those_of_numba():
    @_compiling.compiled(cache=False)
    def ratio(x, y):
        return x / y

    assert ratio(1.0, 4.0) == 0.25
    assert np.isinf(ratio(1.0, 0.0))
