"""What an experiment is: tasks, and a report made from their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# How far ours and published may be apart by chance, in standard errors.
CHANCE = 2.0


@dataclass(frozen=True)
class Task:
    """One piece of work, run once and kept.

    Parameters
    ----------
    name : str
        Readable, unique inside the experiment: "sonar/split 7".
    run : callable
        A function of a module, pure: arguments that JSON can hold in, a dictionary
        that JSON can hold out. A change of what it computes takes a change of its
        module's ``CODE_VERSION``, so that results kept from before are not used.
    arguments : mapping
        Its keyword arguments, seeds and settings among them.
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
    """One figure of ours, beside the published one if there is one.

    Parameters
    ----------
    label : str
        "KMP-mse, Sonar".
    quantity : str
        "test error, %".
    ours : float
        What was measured.
    standard_error : float, optional
        Of the difference `ours` - `published`: the chance in ours, and in the published
        figure where its protocol tells how much it has.
    published : float, optional
        None for a row of ours: today's methods, this library's defaults.
    size, published_size : float, optional
        Support points, where they count.
    why : str
        One sentence, shown where the two figures differ.
    digits : int
        Decimals that the paper prints, and that are shown.
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
        """Whether the difference is more than chance, or than the digits printed."""
        if self.published is None:
            return False
        if self.standard_error is not None:
            return abs(self.ours - self.published) > CHANCE * self.standard_error
        unit = 10.0**-self.digits
        return abs(round(self.ours, self.digits) - self.published) > 0.5 * unit


@dataclass(frozen=True)
class Report:
    """What an experiment found.

    Parameters
    ----------
    rows : sequence of Row
        The figures.
    notes : sequence of str
        What the paper leaves open and how it was settled; summaries, computed.
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
        What it shows.
    source : str
        "Vincent (2003), Table 9.3".
    needs : sequence of str
        Names of data sets, for `pursuit.datasets.load`, without which it is skipped.
    tasks : callable
        ``tasks(quick)`` lists the work, less of it if quick.
    report : callable
        Makes the report from results by task name, all or some of them.
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
