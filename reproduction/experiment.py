"""Experiments: tasks, and a report made from their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Difference from the published figure, in standard errors, that may be chance.
CHANCE = 2.0


@dataclass(frozen=True)
class Task:
    """One piece of work, run once and stored.

    Parameters
    ----------
    name : str
        Readable name, unique within the experiment: "sonar/split 7".
    run : callable
        A pure module-level function that takes JSON arguments and returns a JSON
        dictionary. If its results change, change the ``CODE_VERSION`` of its module, so
        that stored results are not used.
    arguments : mapping
        Keyword arguments, including seeds and settings.
    needs : sequence of str, optional
        Names of the data sets that it reads. None: all those of its experiment. A kept
        result is not used when one of their files has changed.
    """

    name: str
    run: Callable[..., dict[str, Any]]
    arguments: Mapping[str, Any]
    needs: Sequence[str] | None = None


@dataclass(frozen=True)
class Row:
    """One measured figure, with the published one if there is one.

    Parameters
    ----------
    label : str
        "KMP-mse, Sonar".
    quantity : str
        "test error, %".
    ours : float
        Measured figure.
    standard_error : float, optional
        Standard error of the difference `ours` - `published`: the chance in ours, and
        in the published figure if its protocol tells.
    published : float, optional
        Published figure; None for today's methods and this library's defaults.
    size, published_size : float, optional
        Numbers of support points, if relevant.
    why : str
        One sentence, shown if the two figures differ.
    digits : int
        Number of decimals printed in the paper and shown here.
    """

    label: str
    quantity: str
    ours: float
    standard_error: float | None = None
    published: float | None = None
    size: float | None = None
    published_size: float | None = None
    why: str = ""
    digits: int = 2

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        return None if self.published is None else self.ours - self.published

    @property
    def differs(self) -> bool:
        """Whether the difference exceeds chance or, if unknown, printed precision."""
        if self.published is None:
            return False
        if self.standard_error is not None:
            return abs(self.ours - self.published) > CHANCE * self.standard_error
        unit = 10.0**-self.digits
        return abs(round(self.ours, self.digits) - self.published) > 0.5 * unit


@dataclass(frozen=True)
class Report:
    """Results of an experiment.

    Parameters
    ----------
    rows : sequence of Row
        Figures.
    notes : sequence of str
        What the paper leaves open and how it was settled; computed summaries.
    draw : callable, optional
        Draws the picture into a matplotlib figure, from the same results.
    """

    rows: Sequence[Row]
    notes: Sequence[str] = ()
    draw: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        "table-9.3".
    title : str
        Title of the table or figure.
    source : str
        "Vincent (2003), Table 9.3".
    needs : sequence of str
        Names of data sets, for `pursuit.datasets.load`, without which it is skipped.
    tasks : callable
        ``tasks(quick)`` returns the tasks, fewer or smaller ones if quick.
    report : callable
        Makes the report from all or some of the results, by task name.
    seeds : str
        What is random and which seeds it has, or that nothing is. Arguments of tasks
        that are seeds stand in backquotes.
    """

    name: str
    title: str
    source: str
    needs: Sequence[str]
    tasks: Callable[[bool], list[Task]]
    report: Callable[[Mapping[str, dict[str, Any]]], Report]
    seeds: str

    def work(self, quick: bool) -> list[Task]:
        """Return the tasks, each with the names of the data sets that it reads."""
        return [
            replace(task, needs=self.needs) if task.needs is None else task
            for task in self.tasks(quick)
        ]
