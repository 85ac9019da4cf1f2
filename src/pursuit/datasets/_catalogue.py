"""Catalogue of the known data sets, and how each is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._layouts import (
    Arrays,
    Fields,
    a9a,
    adult,
    joined,
    mushrooms,
    resampled,
    side_by_side,
    whole,
)


@dataclass(frozen=True)
class Set:
    """A data set: its file, its description, and how it is read.

    Attributes
    ----------
    file : str
        Name of the file, without its extension.
    descr : str
    layout : callable
        Makes data, target and other fields from the file's arrays.
    dtype : type
        Type of the data.
    extras : tuple of str
        Arrays that are passed on unchanged.
    has_gaps : bool
        Whether some values are missing by nature: NaN.
    background : float or None
        Value of the pixels around the images that can be smoothed.
    """

    file: str
    descr: str
    layout: Callable[[Arrays], Fields] = whole
    dtype: type = np.float64
    extras: tuple[str, ...] = ()
    has_gaps: bool = False
    background: float | None = None


def _ida(name: str, about: str, splits: str = "1 to 10 of the original 100") -> Set:
    descr = (
        f"{about} As in the IDA benchmark (Rätsch et al.): inputs standardized over "
        f"the whole set, labels -1/+1. `splits`: {splits}."
    )
    return Set(f"ida_{name}", descr, resampled)


# Folder of the sets that are not in the catalogue, and beginning of their names.
TABLES = "tables"


def table(name: str) -> Set:
    """Return a set that is not in the catalogue: the file says all that is known."""
    return Set(name, "A table of numbers in their own units, with its target.")


SETS = {
    "a9a": Set(
        "a9a",
        "LIBSVM's a9a: `adult` as 123 binary features, same rows; labels -1/+1.",
        a9a,
    ),
    "adult": Set(
        "adult",
        "Adult / census income (UCI, CC BY 4.0), 32561 + 16281 rows, 6 numeric and "
        "8 categorical columns; 1 = over 50K.",
        adult,
    ),
    "banana": _ida("banana", "Banana, 5300 points of the plane."),
    "boston": Set(
        "boston",
        "Boston housing (StatLib), 506 rows; target MEDV in k$, capped at 50. "
        "Column B is ethically disputed.",
    ),
    "breast_cancer": _ida(
        "breast_cancer", "Ljubljana breast cancer (not Wisconsin), 277 rows."
    ),
    "california": Set(
        "california",
        "California housing 1990 (StatLib), 20640 rows in geographical order; target "
        "in 100 k$, capped at 5. `raw` is the StatLib table.",
        extras=("raw", "raw_names"),
    ),
    "covtype": Set(
        "covtype",
        "Forest cover type (UCI, CC BY 4.0; Blackard, Colorado State University), "
        "581012 rows, labels 1..7. The original parts are rows up to 11340 (train), "
        "15120 (validation) and the rest (test).",
        dtype=np.float32,
    ),
    "heart": _ida("heart", "Statlog heart, 270 rows."),
    "ionosphere": Set(
        "ionosphere",
        "Ionosphere radar returns (UCI, CC BY 4.0), 351 rows; 1 = good. Column 1 is "
        "constant. The usual split is rows up to 200 against the rest.",
    ),
    "mfeat": Set(
        "mfeat",
        "Multiple Features (UCI, CC BY 4.0): six views of 2000 handwritten digits, "
        "sorted by class.",
        side_by_side("fac", "fou", "kar", "mor", "pix", "zer", target="y"),
    ),
    "mnist": Set(
        "mnist",
        "MNIST digits (LeCun, Cortes, Burges), 60000 + 10000 images of 28 x 28 "
        "pixels, 0..255.",
        joined,
        np.float32,
    ),
    "mushrooms": Set(
        "mushrooms",
        "Agaricus-Lepiota mushrooms (UCI, CC BY 4.0), 8124 rows, 22 categorical "
        "columns; 1 = poisonous.",
        mushrooms,
    ),
    "nutrimouse": Set(
        "nutrimouse",
        "Nutrimouse (R package CCA): gene expression and liver fatty acids of 40 "
        "mice; target is the diet.",
        side_by_side("gene", "lipid", target="diet"),
        extras=("genotype", "genotype_names"),
    ),
    "pima": Set(
        "pima",
        "Pima Indians diabetes, 768 rows; 1 = positive. Zeros stand for missing "
        "values in glucose, pressure, triceps, insulin and mass.",
    ),
    "ripley": Set(
        "ripley",
        "Ripley's synthetic mixture of two classes (R package MASS), 250 + 1000 "
        "points of the plane, each part sorted by class.",
        joined,
    ),
    "sonar": Set(
        "sonar",
        "Sonar (UCI, CC BY 4.0), 208 rows sorted by class; 1 = mine, 0 = rock.",
    ),
    "thyroid": _ida(
        "thyroid",
        "UCI new-thyroid (CC BY 4.0), 215 rows.",
        "100 random ones of the original sizes, NOT the original ones",
    ),
    "titanic": _ida("titanic", "Titanic, 2201 rows with 14 distinct inputs."),
    "usps": Set(
        "usps",
        "USPS ZIP-code digits (zip.train, zip.test of the book The Elements of "
        "Statistical Learning), 7291 + 2007 images of 16 x 16 pixels in [-1, 1].",
        joined,
        background=-1.0,
    ),
    "waveform": _ida("waveform", "Waveform, 5000 rows."),
    "wisconsin": Set(
        "wisconsin",
        "Wisconsin breast cancer, original (UCI, CC BY 4.0), 699 rows, integers "
        "1..10; 1 = malignant. 16 rows miss column 5 (NaN).",
        extras=("ids",),
        has_gaps=True,
    ),
}
