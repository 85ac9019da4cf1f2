"""Pipelines of scikit-learn for tables: preparation of the columns, and the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pursuit import KMPClassifier, KMPRegressor
from pursuit._limits import budget
from pursuit._words import Auto, ClassLoss, KernelName, NumberLoss
from pursuit.tables import Field, Kind
from pursuit.tables.columns import MAX_WORDS

__all__ = [
    "MODEL",
    "Settings",
    "importances",
    "known_words",
    "new_pipeline",
    "set_names",
    "support_rows",
]

# Steps of the pipelines, and parts of the preparation.
PREPARE, SCALE, MODEL = "prepare", "scale", "model"
NUMBERS, WORDS = "numbers", "words"
# Share of the memory for the rows; the rest is for the fit.
SHARE_OF_ROWS = 0.25


@dataclass(frozen=True)
class Settings:
    """What the user says about the model.

    Attributes
    ----------
    kernel : str
    loss : str
    max_support : int, optional
    random_state : int
    max_memory : str, optional
    max_rows : int, optional
        Number of rows to draw if there are more.
    test_size : float
        Share of the rows that are held out.
    refit : bool
        Whether to fit once more, to all rows, after the error is known.
    """

    kernel: KernelName | Auto = "auto"
    loss: ClassLoss | NumberLoss | Auto = "auto"
    max_support: int | None = None
    random_state: int = 0
    max_memory: str | None = None
    max_rows: int | None = None
    test_size: float = 0.2
    refit: bool = False

    @property
    def memory_of_rows(self) -> float:
        """Bytes for the rows."""
        return SHARE_OF_ROWS * budget(self.max_memory)

    @property
    def memory_of_fit(self) -> int | None:
        """Bytes for all else, None if no amount was given."""
        if self.max_memory is None:
            return None
        return int((1 - SHARE_OF_ROWS) * budget(self.max_memory))


def new_pipeline(
    fields: Sequence[Field],
    is_class: bool,
    settings: Settings,
    *,
    has_rare_words: bool,
    is_verbose: bool,
) -> Pipeline:
    """Return an unfitted pipeline of preparation and model.

    Parameters
    ----------
    fields : sequence of Field
        Columns of the rows, in order.
    is_class : bool
    settings : Settings
    has_rare_words : bool
        Whether a category has more words than columns are made for.
    is_verbose : bool
        Whether the fit shows progress bars.
    """
    # A learned metric makes up for units; a kernel by name does not.
    scale = [] if settings.kernel == "auto" else [(SCALE, StandardScaler())]
    kind: Any = KMPClassifier if is_class else KMPRegressor
    model = kind(
        settings.kernel,
        loss=settings.loss,
        max_support=settings.max_support,
        max_memory=settings.memory_of_fit,
        random_state=settings.random_state,
        verbose=int(is_verbose),
    )
    prepare = _preparation(fields, has_rare_words)
    return Pipeline([(PREPARE, prepare), *scale, (MODEL, model)])


def _preparation(fields: Sequence[Field], has_rare_words: bool) -> ColumnTransformer:
    words = [i for i, f in enumerate(fields) if f.kind is Kind.CATEGORY]
    numbers = [i for i, f in enumerate(fields) if f.kind is not Kind.CATEGORY]
    fill = SimpleImputer(
        strategy="median", add_indicator=True, keep_empty_features=True
    )
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_WORDS if has_rare_words else None,
        sparse_output=False,
    )
    parts = [(NUMBERS, fill, numbers), (WORDS, encode, words)]
    return ColumnTransformer(
        [part for part in parts if part[2]], verbose_feature_names_out=False
    )


def set_names(pipeline: Pipeline, fields: Sequence[Field]) -> None:
    """Let the preparation know the columns, as if it had been fitted to a frame.

    It then finds the columns of frames by their names. Arrays still do, so that the
    command needs no pandas.
    """
    names = np.array([f.name for f in fields], dtype=object)
    prepare = pipeline.named_steps[PREPARE]
    prepare.feature_names_in_ = names
    for _, part, places in prepare.transformers_:
        if hasattr(part, "transform"):
            part.feature_names_in_ = names[places]


def importances(pipeline: Pipeline, fields: Sequence[Field]) -> list[tuple[str, float]]:
    """Return the columns by how much the model goes by them, most first.

    All that was made of a column (words, a flag for missing values) counts together.
    Empty if the model has no importances.
    """
    shares = getattr(pipeline[-1], "feature_importances_", None)
    if shares is None:
        return []
    owners = _owners(pipeline.named_steps[PREPARE])
    totals = np.bincount(owners, shares, minlength=len(fields))
    names = [f.name for f in fields]
    order = np.argsort(-totals, kind="stable")
    return [(names[i], float(totals[i])) for i in order]


def _owners(prepare: ColumnTransformer) -> np.ndarray:
    """Return the column from which each prepared column was made."""
    owners: list[int] = []
    for name, part, places in prepare.transformers_:
        if name == NUMBERS:
            flagged = part.indicator_.features_ if part.indicator_ else []
            owners += [*places, *(places[i] for i in flagged)]
        elif name == WORDS:
            for place, known, rare in zip(
                places, part.categories_, _rare(part), strict=True
            ):
                n_rare = 0 if rare is None else len(rare)
                owners += [place] * (len(known) - n_rare + bool(n_rare))
    return np.array(owners, dtype=int)


def _rare(encoder: OneHotEncoder) -> Sequence[Any]:
    return getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))


def known_words(pipeline: Pipeline, fields: Sequence[Field]) -> dict[str, list[str]]:
    """Return the words of each category that the pipeline has seen."""
    known: dict[str, list[str]] = {}
    for name, part, places in pipeline.named_steps[PREPARE].transformers_:
        if name == WORDS:
            for place, words in zip(places, part.categories_, strict=True):
                texts = [word for word in words if isinstance(word, str)]
                known[fields[place].name] = texts
    return known


def _unfilled(imputer: SimpleImputer, outputs: np.ndarray) -> np.ndarray:
    """Return the numbers before an imputer, NaN where its flags say so.

    scikit-learn's own inverse fails if a column is missing in all rows.
    """
    n = len(imputer.statistics_)
    numbers = outputs[:, :n].copy()
    if imputer.indicator_ is not None:
        flagged = imputer.indicator_.features_
        numbers[:, flagged] = np.where(
            outputs[:, n:] > 0.5, np.nan, numbers[:, flagged]
        )
    return np.asarray(numbers)


def support_rows(pipeline: Pipeline) -> np.ndarray:
    """Return the support points as rows of the table, words and missing cells too."""
    prepared = pipeline[-1].support_vectors_
    if SCALE in pipeline.named_steps:
        prepared = pipeline.named_steps[SCALE].inverse_transform(prepared)
    prepare = pipeline.named_steps[PREPARE]
    rows = np.empty((len(prepared), prepare.n_features_in_), dtype=object)
    for name, part, places in prepare.transformers_:
        if name in (NUMBERS, WORDS):
            outputs = prepared[:, prepare.output_indices_[name]]
            is_words = name == WORDS
            back = part.inverse_transform if is_words else partial(_unfilled, part)
            rows[:, places] = back(outputs)
    return rows if WORDS in prepare.named_transformers_ else rows.astype(float)
