import sys

import numpy as np
import pytest

from pursuit import demo

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One quick run: what it measured, and where its picture went."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "when absent"
    return demo.run(folder, quick=True), folder


def test_the_models_are_measured(quick):
    comparisons, _ = quick
    assert len(comparisons) == 3
    for comparison in comparisons:
        for measured in (comparison.machine, comparison.pursuit):
            assert 0 <= measured.error < 1
            assert 0 < measured.n_support <= len(comparison.task.y_train)
            assert measured.fit_seconds > 0
            assert measured.predict_seconds > 0


def test_the_curve_passes_through_the_chosen_model(quick):
    comparisons, _ = quick
    for comparison in comparisons:
        chosen = comparison.pursuit
        at_chosen = comparison.staged_errors[chosen.n_support - 1]
        np.testing.assert_allclose(at_chosen, chosen.error, atol=1e-9)


def test_the_first_points_are_on_the_curve_and_a_tenth_of_the_machine(quick):
    comparisons, _ = quick
    for comparison in comparisons:
        start, curve = comparison.start, comparison.staged_errors
        tenth = max(1, comparison.machine.n_support // 10)
        assert start.n_support == min(tenth, comparison.pursuit.n_support)
        np.testing.assert_allclose(start.error, curve[start.n_support - 1], atol=1e-9)


def test_the_picture_is_written(quick):
    _, folder = quick
    assert (folder / demo.PICTURE).read_bytes().startswith(PNG)


def test_the_table_is_aligned(quick):
    comparisons, _ = quick
    lines = demo.table(comparisons).splitlines()
    assert len(lines) == 2 + 3 * len(comparisons)
    assert len({len(line) for line in lines}) == 1


def test_the_headline_tells_what_a_tenth_of_the_points_can_do(quick):
    comparisons, _ = quick
    first, *lines = demo.headline(comparisons).splitlines()
    assert "a tenth" in first
    for comparison, line in zip(comparisons, lines, strict=True):
        start, machine = comparison.start, comparison.machine
        words = " ".join(line.split())
        assert words.startswith(f"{comparison.task.name} {start.n_support} points ")
        assert f"instead of {machine.n_support}, " in words
        assert words.endswith(f"instead of {100 * machine.error:.1f} %")
        assert f"{comparison.task.kind} {100 * start.error:.1f} %" in words


def test_training_and_test_rows_are_apart(quick):
    comparisons, _ = quick
    for comparison in comparisons:
        train = {row.tobytes() for row in comparison.task.X_train}
        test = {row.tobytes() for row in comparison.task.X_test}
        assert not train & test


def test_without_matplotlib_the_table_is_printed(quick, monkeypatch, capsys, tmp_path):
    comparisons, _ = quick
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(demo, "tasks", lambda quick: [c.task for c in comparisons[:1]])
    demo.run(tmp_path, quick=True)
    out = capsys.readouterr().out
    assert "breast cancer" in out
    assert "pursuit[plot]" in out
    assert not list(tmp_path.iterdir())
