r"""The pursuit: greedy choice of atoms under squared loss.

Notation, used throughout: ``l`` rows, ``M`` atoms, ``T`` targets, ``N`` steps.
``A`` (M, l) holds the atoms as rows, ``w`` (l,) the sample weights, and all inner
products of functions on the rows are weighted, :math:`\langle u, v\rangle =
\sum_i w_i u_i v_i`.  Rows of weight zero take no part in the fit but are carried
along, so held-out predictions along the whole path cost nothing more.

For each candidate two numbers suffice (spec: Fig. 9.3 rewrites all of ``D``):
``c[t, k]``, its correlation with the residue of target ``t``, and ``e[k]``, the
squared norm of its part outside the span.  When the unit direction ``q`` joins, with
``a = <q, R>`` and ``p = A q``: ``c -= a p`` and ``e -= p**2``.

*Fewer passes than steps.*  Reading ``A`` is the cost, and a pass for four vectors
costs little more than a pass for one.  So each round guesses the next few atoms: a
pursuit on short images of all atoms says which may come up, and one among those, with
exact inner products, which will.  One pass gives the correlations of all guesses with
all atoms, and the greedy steps are then taken over *all* candidates for as long as the
winner is one of those guessed.  The result is that of one pass a step; guesses not
(yet) taken stay in a pool.

*Ridge* ``alpha |coef|^2`` is least squares with ``N`` more rows, on which the n-th
chosen atom is ``sqrt(alpha)`` at row n and 0 elsewhere.  These rows are the tail of
``Q``, ``R`` and of the pooled directions.
"""

from __future__ import annotations

import numpy as np

from ._atoms import Atoms
from ._loops import first_largest, inner, pursue_among, reduce_residue, update
from ._pool import LOOKS, MOST, Looks, Pool
from ._sketch import Sketch, sketch_size
from .path import OrthogonalPath
from .problem import Problem, Steps

# Targets that differ from a constant by less than this share are one.
_CONSTANT = 1e-14

# A correlation below this share of |atom| |y| is round-off.
NOISE = 4e-16

# A pooled direction that kept less than this share of its squared length since it was
# orthogonalised lost digits with it, and is fetched afresh.
_STALE = 1e-2

# Relative difference between the recurrences' gain and the exact one that calls for
# choosing anew with the exact value: the recurrences lose digits near the span.
_DRIFT = 1e-6

# Guesses a round, at the least.
_FEWEST = 4

# Guesses a step taken, on average: those not taken cost time in vain, but too few
# guesses cost a round.
_GUESSES_A_STEP = 1.25

# What the latest round counts in the average of steps a round.
_LATEST = 0.3

# Steps foreseen on short images.
_AHEAD = 5


class Pursuit(Steps):
    """One pursuit in progress: asks for correlations, then steps as far as they reach.

    ``propose`` returns vectors, the driver correlates them with all atoms, and
    ``advance`` takes the steps that follow.  Several pursuits over one dictionary
    thus share each pass (see :func:`pursuit.running.run`).

    After any number of steps ``n``, ``Q[:b]`` (``b = n`` plus the constant) holds the
    orthonormal directions as functions on all rows, ``loads[:b]`` their coefficients
    and ``tri[:b, :b]`` the triangle with ``atoms = tri.T @ Q``.
    """

    def __init__(self, atoms: Atoms, problem: Problem, speculate: bool = True):
        super().__init__(atoms, problem)
        self._speculate = speculate
        n_targets, n_rows = problem.Y.shape
        n_max = problem.max_steps
        tail = n_max if problem.alpha > 0 and problem.is_orthogonal else 0
        size = n_max + self._offset
        self._w = np.concatenate([problem.weight, np.ones(tail)])
        self.Q = np.zeros((size, n_rows + tail))
        self.R = np.zeros((n_targets, n_rows + tail))
        self.R[:, :n_rows] = problem.Y
        self.loads = np.zeros((size, n_targets))
        self.tri = np.zeros((size, size))
        self._squared_y = 0.0
        self._steps_a_round = float(_FEWEST)
        self._started = False
        self._prepare()
        self._begin_residue()

    def _prepare(self) -> None:
        """Make room for what is known of all atoms."""
        n_atoms, is_orthogonal = self.atoms.n_atoms, self.problem.is_orthogonal
        n_looks = min(LOOKS, n_atoms) if self._speculate else 0
        self._looks = Looks(self.atoms, self.problem.weight, n_looks)
        self.sketch = None
        if self._speculate:
            self.sketch = Sketch(self._w, self.atoms.n_rows, n_atoms)
        self._n_sketched = 0
        self._history = np.empty(
            (len(self.Q) if is_orthogonal else self._offset, n_atoms)
        )
        self._pool = Pool(self.Q.shape, n_atoms, is_orthogonal)

    # -- the start -----------------------------------------------------------------

    def _begin_residue(self) -> None:
        problem = self.problem
        constant, load = np.zeros_like(self.R[0]), np.zeros(len(self.R))
        if problem.fit_intercept:
            root = np.sqrt(problem.weight.sum())
            constant[: self.atoms.n_rows] = 1.0 / root
            load = inner(self.R, constant, self._w)
            self.Q[0], self.loads[0], self.tri[0, 0] = constant, load, root
        self.errors[0] = reduce_residue(
            self.R, constant, load, problem.weight, problem.held_out
        )
        self._squared_y = self.errors[0, 0]
        self._values = np.zeros((len(self.R), len(self._held_out)))
        self._judge_change(0, constant, load)
        whole = float(((problem.Y**2) @ problem.weight).sum())
        if self._squared_y <= _CONSTANT**2 * whole:
            self.stop_reason = "exact"

    def _begin_candidates(self, first: np.ndarray, norms: np.ndarray) -> None:
        """Set ``c`` and ``e`` from the first correlations and the squared norms."""
        problem = self.problem
        n_targets = len(problem.Y)
        self._c = np.ascontiguousarray(first[:n_targets])
        self._norms = norms + problem.alpha
        if problem.fit_intercept:
            self._history[0] = first[-1]
            centred = norms - first[-1] ** 2
            # What is left of a constant atom after centring is round-off.
            centred[centred <= 1e-14 * norms] = 0.0
            self._norms = centred + problem.alpha
        self._e = self._norms.copy()
        self._open = problem.candidates & (self._norms > 0)
        self._gain = np.zeros(self.atoms.n_atoms)
        self._move(np.zeros(self.atoms.n_atoms), np.zeros(n_targets))
        self._started = True

    def _move(self, p: np.ndarray, a: np.ndarray) -> None:
        problem = self.problem
        update(
            self._c,
            self._e,
            self._norms,
            p,
            a,
            problem.is_orthogonal,
            problem.method != "pre-fitting",
            problem.tol if problem.is_orthogonal else 0.0,
            NOISE**2 * self._squared_y,
            self._open,
            self._gain,
        )

    # -- one round -----------------------------------------------------------------

    @property
    def work(self) -> float:
        """About how many operations a proposal takes."""
        return self.atoms.n_rows * self.atoms.n_atoms / 4

    def propose(self) -> np.ndarray:
        """Return the vectors (m, l) whose correlations with all atoms are wanted."""
        rows = slice(0, self.atoms.n_rows)
        if not self._started:
            first = np.concatenate([self.R, self.Q[: self._offset]])
            return first[:, rows] * self.problem.weight
        self._pool.tidy(self._gain, self._basis_size)
        index = self._guess()
        U, h = self._outside_span(index)
        squared = np.einsum("ij,ij,j->i", U, U, self._w) + self.problem.alpha
        self._pool.add(index, U, h, squared, self._basis_size)
        return U[:, rows] * self.problem.weight

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Take all the steps that these correlations allow."""
        if not self._started:
            assert norms is not None
            self._begin_candidates(correlations, norms)
        else:
            self._pool.complete(correlations)
        before = self.n_steps
        while self.stop_reason is None:
            if self.n_steps == self.problem.max_steps:
                self.stop_reason = "max_support"
                break
            k = first_largest(self._gain)
            if k < 0:
                self.stop_reason = self._why_none()
                break
            slot = self._pool.find(k)
            if slot < 0 or not self._step(k, slot):
                break
        taken = self.n_steps - before
        self._steps_a_round += _LATEST * (taken - self._steps_a_round)

    def _why_none(self) -> str:
        if self.errors[self.n_steps, 0] <= 1e-24 * self._squared_y:
            return "exact"
        return "exhausted"

    @property
    def _span_size(self) -> int:
        """Directions that are taken out of an atom: all, or only the constant."""
        return self._basis_size if self.problem.is_orthogonal else self._offset

    # -- guessing ------------------------------------------------------------------

    @property
    def _n_guesses(self) -> int:
        # Vectors pass in pairs.
        wanted = 2 * np.ceil(_GUESSES_A_STEP * self._steps_a_round / 2)
        return int(np.clip(wanted, _FEWEST, MOST))

    def _guess(self) -> np.ndarray:
        """Return the atoms to fetch: those that a pursuit among a few would take.

        It is only a guess; the greedy choice itself is made over all candidates in
        :meth:`advance`.
        """
        pooled = self._pool.atoms()
        gain = self._gain.copy()
        gain[pooled] = 0.0
        index = self._most_promising(gain)
        m = len(index)
        if m <= self._n_guesses:
            return index
        among = np.concatenate([index, pooled])
        gram = np.empty((len(among), len(among)))
        # Inner products of the atoms' parts outside the span: of the whole atoms, less
        # those of the parts inside, which the correlations tell.
        inside = self._history[: self._span_size, index]
        gram[:m, :m] = self._looks.products(index) - inside.T @ inside
        gram[m:] = self._pool.products(among, self._basis_size)
        gram[:m, m:] = gram[m:, :m].T
        gram[np.diag_indices(len(among))] = self._e[among]
        picks = pursue_among(
            gram,
            self._c[:, among],
            self._norms[among],
            self.problem.method != "pre-fitting",
            min(len(among), self._n_guesses + len(pooled)),
        )
        picks = picks[picks < m][: self._n_guesses]
        # The best of all must be among them, or the round would not take a step.
        picks = np.concatenate([[0], picks[picks != 0][: self._n_guesses - 1]])
        return index[picks]

    def _most_promising(self, gain: np.ndarray) -> np.ndarray:
        """Return candidates of high gain now or soon, the best of all first."""
        best = first_largest(gain)
        n_look = min(self._n_looks(), int(np.count_nonzero(gain)))
        if n_look <= 1 or self.sketch is None:
            return np.array([best])
        index = self._foresee(self.sketch, gain, -(-n_look // _AHEAD))
        return np.concatenate([[best], index[index != best][: n_look - 1]])

    def _foresee(self, sketch: Sketch, gain: np.ndarray, n_each: int) -> np.ndarray:
        """Return the candidates that may win one of the next steps."""
        new = slice(self._n_sketched, self._span_size)
        sketch.take_out(self._history[new], self.Q[new])
        self._n_sketched = self._span_size
        return sketch.foresee(
            self._c.copy(),
            self._e.copy(),
            self._norms,
            self._gain.copy(),
            gain == 0.0,
            self.problem.is_orthogonal,
            self.problem.method != "pre-fitting",
            _AHEAD,
            n_each,
        )

    def _n_looks(self) -> int:
        """Return how many candidates to look at.

        A pass for m vectors is 2 l M m operations; B looks are 2 l B**2 at the most,
        and shall cost an eighth of it.  Where that allows but a few, they are not worth
        their trouble: the best m are fetched as they are.
        """
        m = self._n_guesses
        fair = min(int(np.sqrt(m * self.atoms.n_atoms / 8)), LOOKS)
        return fair if fair > 2 * m else m

    def _outside_span(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return atoms less their parts in the span, and what was taken out.

        What is to be taken out is known from the correlations; what rounding left
        behind is taken out afterwards.
        """
        size = self._span_size
        U = np.zeros((len(index), self.Q.shape[1]))
        U[:, : self.atoms.n_rows] = self.atoms.columns(index)
        h = np.zeros((len(index), len(self.Q)))
        h[:, :size] = self._history[:size, index].T
        U -= h[:, :size] @ self.Q[:size]
        U, more = self._orthogonalise(U)
        h[:, :size] += more
        return U, h

    def _orthogonalise(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take the span out of the rows of ``U``; return also what was taken."""
        taken = (U * self._w) @ self.Q[: self._span_size].T
        return U - taken @ self.Q[: self._span_size], taken

    # -- stepping ------------------------------------------------------------------

    def _step(self, k: int, slot: int) -> bool:
        """Take atom ``k`` if it holds up; return whether the round may go on."""
        if self.problem.is_orthogonal:
            return self._orthogonal_step(k, slot)
        n, b = self.n_steps, self._basis_size
        a = self._c[:, k] / self._norms[k]
        self.tri[: self._offset, b] = self._pool.h[slot, : self._offset]
        self.tri[b, b] = 1.0
        u, p = self._pool.U[slot], self._pool.G[slot]
        self._record(k, u, a, self._gain[k])
        self._c[:, k] -= self.problem.alpha * a
        self._move(p, a)
        self.n_steps = n + 1
        return True

    def _orthogonal_step(self, k: int, slot: int) -> bool:
        problem, pool = self.problem, self._pool
        n, b = self.n_steps, self._basis_size
        u, p = self.Q[b], pool.new_correlations()
        h = pool.bring_up_to_date(slot, k, self.Q, u, p, b)
        squared = inner(u[None], u, self._w)[0] + problem.alpha
        if squared < _STALE * pool.squared[slot]:
            u[:] = 0.0
            pool.drop(k)
            return False
        c = inner(self.R, u, self._w)
        by = self._norms[k] if problem.method == "back-fitting" else squared
        exact = float(c @ c) / by
        if abs(exact - self._gain[k]) > _DRIFT * self._gain[k]:
            u[:] = 0.0
            self._e[k], self._c[:, k] = squared, c
            is_outside = squared > problem.tol * self._norms[k]
            self._gain[k] = exact if is_outside else 0.0
            return True
        root = np.sqrt(squared)
        self.tri[:b, b] = h
        self.tri[b, b] = root
        u /= root
        p /= root
        if problem.alpha > 0:
            u[self.atoms.n_rows + n] = np.sqrt(problem.alpha) / root
        self._open[k] = False
        pool.drop(k)
        self._record(k, u, c / root, exact)
        self._move(p, c / root)
        pool.keep()
        self._history[b] = p
        self.n_steps = n + 1
        return True

    def _record(self, k: int, u: np.ndarray, a: np.ndarray, gain: float) -> None:
        problem, n = self.problem, self.n_steps
        self.loads[self._basis_size] = a
        self.errors[n + 1] = reduce_residue(
            self.R, u, a, problem.weight, problem.held_out
        )
        self.chosen[n] = k
        self.gains[n] = gain
        self._judge_change(n + 1, u, a)

    def _judge_change(self, size: int, u: np.ndarray, a: np.ndarray) -> None:
        """Have the held-out values judged after they changed by ``a`` times ``u``.

        They are summed up: targets less residue would betray the targets by rounding.
        """
        if self.problem.judge is not None:
            self._values += a[:, None] * u[self._held_out]
            self._judge(size, self._values)

    # -- the result ----------------------------------------------------------------

    def path(self) -> OrthogonalPath:
        """Return the path so far, a value of its own."""
        n, b = self.n_steps, self._basis_size
        total = self.problem.weight.sum()
        return OrthogonalPath(
            atoms=self.chosen[:n].copy(),
            triangle=self.tri[:b, :b].copy(),
            loads=self.loads[:b].copy(),
            errors=self.errors[: n + 1, 0] / total,
            gains=self.gains[:n].copy(),
            has_intercept=self.problem.fit_intercept,
            stop_reason=self.stop_reason or "unfinished",
            means=_means(self.problem) if self.problem.fit_intercept else None,
        )

    @staticmethod
    def state_bytes(n_rows: int, n_atoms: int, n_steps: int, n_targets: int = 1) -> int:
        """Return about how many bytes one pursuit holds besides the atoms."""
        width = n_rows + n_steps
        directions = (n_steps + 1) * (width + n_atoms + n_steps)
        pool = 2 * MOST * (width + n_atoms) + 3 * MOST * n_atoms
        looks = LOOKS * (n_rows + LOOKS)
        candidates = 2 * (n_targets + 4) * n_atoms + 2 * n_targets * width
        images = (sketch_size(n_rows) + _AHEAD) * n_atoms // 2
        return 8 * (directions + pool + looks + candidates + images)


def _means(problem: Problem) -> np.ndarray:
    """Return the weighted means of the targets, of a constant the constant itself."""
    first = problem.Y[:, np.argmax(problem.weight > 0)]
    rest = (problem.Y - first[:, None]) @ problem.weight
    return first + rest / problem.weight.sum()
