r"""The pursuit: greedy choice of atoms under squared loss.

Notation, used throughout: ``l`` rows, ``M`` atoms, ``T`` targets, ``N`` steps.
``A`` (M, l) holds the atoms as rows, ``w`` (l,) the sample weights, and all inner
products of functions on the rows are weighted, :math:`\langle u, v\rangle =
\sum_i w_i u_i v_i`. Rows of weight zero take no part in the fit but are carried along,
so that held-out predictions along the whole path come at no extra cost.

For each candidate two numbers suffice (Fig. 9.3 rewrites all of ``D`` instead):
``c[t, k]``, its correlation with the residual of target ``t``, and ``e[k]``, the
squared norm of its part outside the span. When the unit direction ``q`` is added, with
``a = <q, R>`` and ``p = A q``: ``c -= a p`` and ``e -= p**2``.

*Fewer passes than steps.* Reading ``A`` dominates the cost, and a pass for many
vectors costs little more than a pass for one. So each round predicts the next steps
from an image of the atoms rounded to 8 bits, and chooses the winner of each step by
exact values among the few best. One pass gives the exact correlations of all predicted
directions with all atoms. Greedy steps are then taken over *all* candidates for as long
as the winner is the predicted one. The result is the same as with one pass per step.

*Ridge.* ``alpha |coef|^2`` is least squares with ``N`` more rows, on which the n-th
chosen atom is ``sqrt(alpha)`` at row n and 0 elsewhere. These rows are the tail of
``Q`` and ``R``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ._loops import inner, take_out_span
from .atoms import Atoms
from .directions import DirectionSteps
from .foresight import LOOKS, MOST, Foresight
from .gains import Scores
from .image import Image
from .problem import Problem

# If projecting out the span leaves less than this share of an atom's squared length,
# precision was lost, and the projection is repeated.
_LOST = 1e-2

# Relative difference between the recurrences' gain and the exact one above which the
# choice is repeated with the exact value: the recurrences are imprecise near the span.
_DRIFT = 1e-6

# Replaces a squared length of 0 in divisions.
_TINY = float(np.finfo(np.float64).tiny)

# Minimum number of steps foreseen per round.
_FEWEST = 4

# Up to this many stored values, a pass takes less time than foreseeing a step.
_QUICK_PASS = 200_000


class Pursuit(DirectionSteps):
    """One pursuit in progress under squared loss.

    ``propose`` returns vectors, the driver correlates them with all atoms, and
    ``advance`` takes the steps that these correlations allow. Thus several pursuits
    over one dictionary share each pass (see :func:`.running.run`).

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
        Least-squares problem.
    speculate : bool, optional
        Whether to foresee steps, or to take one step per pass; by default whatever
        takes less time.
    """

    def __init__(self, atoms: Atoms, problem: Problem, speculate: bool | None = None):
        super().__init__(atoms, problem)
        is_quick = atoms.stored is not None and atoms.stored.size <= _QUICK_PASS
        self._speculate = not is_quick if speculate is None else speculate
        self._n_ahead = _FEWEST
        self._image: Image | None = None
        self._foreseen: list[int] = []
        self._n_right = 0
        self._started = False

    @property
    def needs_image(self) -> bool:
        """Whether steps are foreseen from an image of the atoms."""
        return self._speculate

    # -- the start -----------------------------------------------------------------

    def _begin_candidates(self, first: np.ndarray, norms: np.ndarray) -> None:
        """Initialize the scores from the first correlations and the squared norms."""
        deviations = partial(self.atoms.deviations, weight=self.problem.weight)
        self._scores = Scores(self.problem, first, norms, self._squared_y, deviations)
        # The first image is that of the whole atoms.
        self._imaged = norms
        n_known = len(self.Q) if self.problem.is_orthogonal else self._offset
        self._P = np.empty((n_known, self.atoms.n_atoms))
        self._P[: self._offset] = first[len(self.R) :]
        self._started = True

    # -- one round -----------------------------------------------------------------

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal."""
        return self.atoms.n_rows * self.atoms.n_atoms

    def propose(self) -> np.ndarray:
        """Return the vectors (m, l) whose correlations with all atoms are needed."""
        rows = slice(0, self.atoms.n_rows)
        if not self._started:
            first = np.concatenate([self.R, self.Q[: self._offset]])
            return first[:, rows] * self.problem.weight
        return self._foresee() if self._speculate else self._next_direction()

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Take all steps that these correlations allow."""
        if not self._started:
            assert norms is not None
            self._begin_candidates(correlations, norms)
        before = self.n_steps
        for k, p in zip(self._foreseen, correlations, strict=False):
            if not self._take_foreseen(k, p):
                break
        self._learn(self.n_steps - before)
        if self.n_steps == self.problem.max_steps:
            self.stop_reason = "max_support"
        elif self._scores.best() < 0:
            self.stop_reason = self._why_none()

    def _learn(self, n_taken: int) -> None:
        """Foresee more steps if the last round came out as foreseen, else fewer."""
        n, self._n_right = len(self._foreseen), n_taken
        wanted = 2 * n if n_taken == n else (n + n_taken) // 2
        self._n_ahead = min(max(wanted, _FEWEST), MOST)

    def _next_direction(self) -> np.ndarray:
        """Write the direction of the next step; return it times the weights."""
        k, b = self._scores.best(), self._basis_size
        self._foreseen = [k]
        self._write_direction(k, b)
        return (self.Q[b] * self._w)[None, : self.atoms.n_rows]

    # -- foreseeing ----------------------------------------------------------------

    def _foresee(self) -> np.ndarray:
        """Write the directions of the next steps; return them times the weights."""
        problem, b = self.problem, self._basis_size
        ahead = Foresight(
            self.atoms,
            self._fit_image(),
            problem,
            self._scores,
            self._w,
        )
        n_ahead = min(self._n_ahead, problem.max_steps - self.n_steps)
        self._foreseen = []
        while len(self._foreseen) < n_ahead and (k := ahead.best()) >= 0:
            place = b + len(self._foreseen)
            length = self._write_direction(k, place)
            self._foreseen.append(k)
            ahead.choose(k, self.Q[place], length)
        return ahead.vectors

    def _fit_image(self) -> Image | None:
        """Return the image from which to foresee steps.

        The image of the whole atoms serves as long as enough of them is left outside
        the span; after that the pursuit needs its own image of these parts.
        """
        image = self._image or self.atoms.image
        wrong = self._foreseen[self._n_right : self._n_right + 1]
        if image is None or not wrong or not self.problem.is_orthogonal:
            return image
        if self._scores.e[wrong[0]] < image.blur * self._imaged[wrong[0]]:
            b, used = self._basis_size, (self._w > 0).astype(np.float64)
            self._image = self.atoms.image_of_rests(self._P[:b], self.Q[:b], used)
            self._imaged = self._scores.e.copy()
        return self._image or image

    def _write_direction(self, k: int, place: int) -> float:
        """Write the direction that atom ``k`` adds to those before ``place``.

        Return its length or, in a plain pursuit, where the atom itself is the
        direction, its squared norm.
        """
        problem, u = self.problem, self.Q[place]
        is_orthogonal = problem.is_orthogonal
        u[:] = 0.0
        u[: self.atoms.n_rows] = self.atoms.values(np.array([k]))[0]
        h, squared = self._take_out_span(k, u, place)
        self.tri[: len(h), place] = h
        squared = max(squared + problem.alpha, _TINY)
        root = np.sqrt(squared) if is_orthogonal else 1.0
        self.tri[place, place] = root
        u /= root
        if is_orthogonal and problem.alpha > 0:
            tail = self.atoms.n_rows + place - self._offset
            u[tail] = np.sqrt(problem.alpha) / root
        return float(root if is_orthogonal else self._scores.norms[k])

    def _take_out_span(
        self, k: int, u: np.ndarray, place: int
    ) -> tuple[np.ndarray, float]:
        """Project the span out of atom ``k``; return coefficients and squared norm.

        Most coefficients are known from earlier passes; foreseen directions are
        projected out afterwards. If little is left, the projection is repeated, because
        rounding errors would then matter.
        """
        is_orthogonal = self.problem.is_orthogonal
        known = self._basis_size if is_orthogonal else self._offset
        Q = self.Q[: place if is_orthogonal else self._offset]
        h = np.zeros(len(Q))
        h[:known] = self._P[:known, k]
        squared = take_out_span(u, Q, self._w, h, known, _LOST)
        return h, squared

    # -- stepping ------------------------------------------------------------------

    def _take_foreseen(self, k: int, p: np.ndarray) -> bool:
        """Take the foreseen atom ``k`` if it is the best; return whether it is."""
        step = self._orthogonal_step if self.problem.is_orthogonal else self._plain_step
        while self._scores.best() == k:
            if step(k, p):
                self.n_steps += 1
                return True
        return False

    def _plain_step(self, k: int, p: np.ndarray) -> bool:
        scores = self._scores
        a = scores.c[:, k] / scores.norms[k]
        self._record(k, self.Q[self._basis_size], a, scores.gain[k])
        scores.c[:, k] -= self.problem.alpha * a
        scores.move(p, a)
        return True

    def _orthogonal_step(self, k: int, p: np.ndarray) -> bool:
        """Take atom ``k``, or correct its gain if that was imprecise."""
        problem, scores, b = self.problem, self._scores, self._basis_size
        u, root = self.Q[b], self.tri[b, b]
        a = inner(self.R, u, self._w)
        squared = root * root
        by = scores.norms[k] if problem.by_norm else squared
        exact = float(a @ a) * squared / by
        if abs(exact - scores.gain[k]) > _DRIFT * scores.gain[k]:
            scores.e[k], scores.c[:, k] = squared, a * root
            is_outside = squared > problem.tol * scores.norms[k]
            scores.gain[k] = exact if is_outside else 0.0
            return False
        scores.is_open[k] = False
        self._record(k, u, a, exact)
        scores.move(p, a)
        self._P[b] = p
        return True

    # -- memory --------------------------------------------------------------------

    @staticmethod
    def state_bytes(n_rows: int, n_atoms: int, n_steps: int, n_targets: int = 1) -> int:
        """Return approximately the bytes of one pursuit besides atoms and image."""
        width = n_rows + n_steps
        directions = (n_steps + 1) * (width + n_atoms + n_steps)
        ahead = (2 * MOST + LOOKS) * width + MOST * n_atoms
        candidates = (3 * n_targets + 9) * n_atoms + 2 * n_targets * width
        return 8 * (directions + ahead + candidates)
