"""When to stop, and why."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pursuit.fitting.stopping import Patience


def test_stops_after_some_steps_without_a_fall():
    show = Patience(3).start()
    assert [show(e) for e in [5, 4, 4.5, 3, 3, 3.1]] == [None] * 6
    assert show(3.0) == "patience"


def test_equal_errors_are_no_fall():
    assert Patience(2).length(np.ones(10)) == 3


def test_an_error_that_keeps_falling_is_seen_to_its_end():
    assert Patience(1).length(np.arange(10, 0, -1)) == 10


def test_a_share_waits_longer_for_larger_models():
    errors = np.concatenate([np.arange(20, 0, -1), np.full(100, 2)])
    best = 19
    assert Patience(5).length(errors) == best + 5 + 1
    assert Patience(5, share=1.0).length(errors) == best + 5 + best + 1


def test_runs_do_not_share_their_memory():
    rule = Patience(1)
    first, second = rule.start(), rule.start()
    assert first(1.0) is None
    assert first(2.0) == "patience"
    assert second(3.0) is None
    assert second(2.0) is None


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=40),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_law_length_is_where_a_run_stops(errors, steps, share):
    rule = Patience(steps, share)
    show = rule.start()
    reasons = [show(e) for e in errors]
    n = reasons.index("patience") + 1 if "patience" in reasons else len(errors)
    assert rule.length(np.array(errors)) == n


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 8))
def test_law_what_comes_later_changes_nothing(errors, steps):
    rule = Patience(steps)
    n = rule.length(np.array(errors))
    assert rule.length(np.array(errors + [0.0] * 5)) == n or n == len(errors)


def test_nan_is_no_fall():
    assert Patience(2).length(np.array([1.0, np.nan, np.nan, np.nan])) == 3


def test_a_rule_is_a_value():
    assert Patience(5) == Patience(5, 0.0)
    with pytest.raises(AttributeError):
        Patience(5).steps = 6
