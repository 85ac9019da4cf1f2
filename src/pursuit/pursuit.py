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

*Fewer passes than steps.*  Reading ``A`` is the cost, and a pass for eight vectors
costs little more than a pass for one.  So each round guesses the next few atoms by a
pursuit among the most promising ones, one pass gives the correlations of all guesses
with all atoms, and the greedy steps are then taken over *all* candidates for as long
as the winner is one of those guessed.  The result is that of one pass a step; guesses
not (yet) taken stay in a pool.

*Ridge* ``alpha |coef|^2`` is least squares with ``N`` more rows, on which the n-th
chosen atom is ``sqrt(alpha)`` at row n and 0 elsewhere.  These rows are the tail of
``Q``, ``R`` and of the pooled directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ._atoms import Atoms
from ._loops import first_largest, inner, pursue_among, reduce_residue, subtract, update
from .path import Path

METHODS = ("pre-fitting", "back-fitting", "basic")

# A correlation below this share of |atom| |y| is round-off.
_NOISE = 4e-16

# A pooled direction that kept less than this share of its squared length since it was
# orthogonalised lost digits with it, and is fetched afresh.
_STALE = 1e-2

# Relative difference between the recurrences' gain and the exact one that calls for
# choosing anew with the exact value: the recurrences lose digits near the span.
_DRIFT = 1e-6

# Guesses a round: at the least, at the most; and candidates looked at for each.
_FEWEST, _MOST, _LOOK = 4, 32, 8


@dataclass(frozen=True, eq=False)
class Problem:
    """What one pursuit fits.

    Attributes
    ----------
    Y : ndarray of shape (T, l)
        Targets, one a row.
    weight : ndarray of shape (l,)
        Sample weights; rows of weight 0 are not fitted.
    held_out : ndarray of shape (l,)
        Weights under which the held-out error is recorded.
    candidates : ndarray of bool of shape (M,)
        The atoms that may be chosen.
    method : {"pre-fitting", "back-fitting", "basic"}
    alpha : float
        Ridge on the coefficients.
    fit_intercept : bool
        Whether an unpenalised constant is always present.
    max_steps : int
    tol : float
        An atom whose squared norm outside the span is below ``tol`` times its
        squared norm counts as dependent and is passed over.
    """

    Y: np.ndarray
    weight: np.ndarray
    held_out: np.ndarray
    candidates: np.ndarray
    method: str = "pre-fitting"
    alpha: float = 0.0
    fit_intercept: bool = True
    max_steps: int = 100
    tol: float = 1e-10

    @property
    def is_orthogonal(self) -> bool:
        """Whether all coefficients are optimised at each step."""
        return self.method != "basic"


class Pursuit:
    """One pursuit in progress: asks for correlations, then steps as far as they reach.

    ``propose`` returns vectors, the driver correlates them with all atoms, and
    ``advance`` takes the steps that follow.  Several pursuits over one dictionary
    thus share each pass (see :func:`run`).

    After any number of steps ``n``, ``Q[:b]`` (``b = n`` plus the constant) holds the
    orthonormal directions as functions on all rows, ``loads[:b]`` their coefficients
    and ``tri[:b, :b]`` the triangle with ``atoms = tri.T @ Q``.
    """

    def __init__(self, atoms: Atoms, problem: Problem, speculate: bool = True):
        self.atoms, self.problem = atoms, problem
        self._speculate = speculate
        n_targets, n_rows = problem.Y.shape
        n_max = problem.max_steps
        tail = n_max if problem.alpha > 0 and problem.is_orthogonal else 0
        self._offset = int(problem.fit_intercept)
        size = n_max + self._offset
        self._w = np.concatenate([problem.weight, np.ones(tail)])
        self.Q = np.zeros((size, n_rows + tail))
        self.R = np.zeros((n_targets, n_rows + tail))
        self.R[:, :n_rows] = problem.Y
        self.loads = np.zeros((size, n_targets))
        self.tri = np.zeros((size, size))
        self.n_steps = 0
        self.chosen = np.full(n_max, -1)
        self.errors = np.zeros((n_max + 1, 2))
        self.gains = np.zeros(n_max)
        self.stop_reason: str | None = None
        self._squared_y = 0.0
        self._n_guesses = 2 * _FEWEST
        self._pool = _Pool(self.Q.shape, atoms.n_atoms, problem.is_orthogonal)
        self._started = False
        self._begin_residue()

    # -- the start -----------------------------------------------------------------

    def _begin_residue(self) -> None:
        problem, rows = self.problem, slice(0, self.atoms.n_rows)
        if problem.fit_intercept:
            root = np.sqrt(problem.weight.sum())
            self.Q[0, rows] = 1.0 / root
            self.tri[0, 0] = root
            self.loads[0] = inner(self.R, self.Q[0], self._w)
        self.errors[0] = reduce_residue(
            self.R, self.Q[0], self.loads[0], problem.weight, problem.held_out
        )
        self._squared_y = self.errors[0, 0]
        if self._squared_y <= (_NOISE**2) * float(
            ((problem.Y**2) @ problem.weight).sum()
        ):
            self.stop_reason = "exact"

    def _begin_candidates(self, first: np.ndarray, norms: np.ndarray) -> None:
        """Set ``c`` and ``e`` from the first correlations and the squared norms."""
        problem = self.problem
        n_targets = len(problem.Y)
        self._c = np.ascontiguousarray(first[:n_targets])
        self._norms = norms + problem.alpha
        if problem.fit_intercept:
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
            _NOISE**2 * self._squared_y,
            self._open,
            self._gain,
        )

    # -- one round -----------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Return the vectors (m, l) whose correlations with all atoms are wanted."""
        rows = slice(0, self.atoms.n_rows)
        if not self._started:
            first = np.concatenate([self.R, self.Q[: self._offset]])
            return first[:, rows] * self.problem.weight
        self._pool.tidy(self._gain, self._basis_size)
        index, U, h = self._guess()
        U, h = self._orthogonalise(U, h)
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
        self._n_guesses = int(np.clip(2 * taken, _FEWEST, _MOST))

    def _why_none(self) -> str:
        if self.errors[self.n_steps, 0] <= 1e-24 * self._squared_y:
            return "exact"
        return "exhausted"

    @property
    def _basis_size(self) -> int:
        return self.n_steps + self._offset

    # -- guessing ------------------------------------------------------------------

    def _guess(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Choose atoms to fetch; return them, their parts outside the span, and h."""
        pooled = self._pool.atoms()
        gain = self._gain.copy()
        gain[pooled] = 0.0
        index = self._most_promising(gain)
        U, h = self._outside_span(index)
        if len(index) == 1:
            return index, U, h
        among = np.concatenate([index, pooled])
        gram = np.empty((len(among), len(among)))
        m = len(index)
        gram[:m, :m] = (U * self._w) @ U.T
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
        best = int(np.argmax(gain[index]))
        if best not in picks:
            picks = np.append(picks[: self._n_guesses - 1], best)
        return index[picks], U[picks], h[picks]

    def _most_promising(self, gain: np.ndarray) -> np.ndarray:
        n_look = _LOOK * self._n_guesses if self._speculate else 1
        n_look = min(n_look, int(np.count_nonzero(gain)))
        best = first_largest(gain)
        if n_look <= 1:
            return np.array([best])
        index = np.argpartition(gain, -n_look)[-n_look:]
        if best not in index:
            index[0] = best
        return index

    def _outside_span(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        U = np.zeros((len(index), self.Q.shape[1]))
        U[:, : self.atoms.n_rows] = self.atoms.columns(index)
        return self._orthogonalise(U, np.zeros((len(index), len(self.Q))))

    def _orthogonalise(
        self, U: np.ndarray, h: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Remove the span from the rows of ``U`` once; ``h`` gathers what was removed.

        Twice is enough: the guesses get it once when they are looked at and once when
        they are fetched.  The basic method keeps its atoms, less the constant.
        """
        size = self._basis_size if self.problem.is_orthogonal else self._offset
        removed = (U * self._w) @ self.Q[:size].T
        h[:, :size] += removed
        return U - removed @ self.Q[:size], h

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
        pool.keep(p)
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

    # -- the result ----------------------------------------------------------------

    def take_back(self, n_steps: int) -> None:
        """End the pursuit as it was after ``n_steps``; it cannot go on."""
        self.n_steps = min(self.n_steps, n_steps)

    def path(self) -> Path:
        """Return the path so far, a value of its own."""
        n, b = self.n_steps, self._basis_size
        total = self.problem.weight.sum()
        return Path(
            atoms=self.chosen[:n].copy(),
            triangle=self.tri[:b, :b].copy(),
            loads=self.loads[:b].copy(),
            errors=self.errors[: n + 1, 0] / total,
            gains=self.gains[:n].copy(),
            has_intercept=self.problem.fit_intercept,
            stop_reason=self.stop_reason or "unfinished",
        )


def state_bytes(n_rows: int, n_atoms: int, n_steps: int, n_targets: int = 1) -> int:
    """Return about how many bytes one pursuit holds besides the atoms."""
    width = n_rows + n_steps
    directions = (n_steps + 1) * width + (n_steps + 1) ** 2
    pool = 2 * _MOST * (width + n_atoms) + 3 * _MOST * n_atoms
    looks = _LOOK * _MOST * width
    candidates = (n_targets + 4) * n_atoms + 2 * n_targets * width
    return 8 * (directions + pool + looks + candidates)


class RandomPursuit(Pursuit):
    """A pursuit that looks at a few candidates, drawn anew at each step.

    Among 59 random candidates the best is, with 95 % certainty, one of the best 5 %
    of all (§9.4.1).  No pass over the dictionary is made at all: each step evaluates
    only the atoms it draws.
    """

    def __init__(
        self,
        atoms: Atoms,
        problem: Problem,
        n_candidates: int,
        rng: np.random.Generator,
    ):
        super().__init__(atoms, problem, speculate=False)
        self._n_candidates, self._rng = n_candidates, rng
        self._left = problem.candidates.copy()

    def propose(self) -> np.ndarray:
        """Return no vectors: nothing is wanted of the atoms that are not drawn."""
        return np.zeros((0, self.atoms.n_rows))

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Take one step."""
        problem = self.problem
        if self.n_steps == problem.max_steps:
            self.stop_reason = "max_support"
            return
        left = np.flatnonzero(self._left)
        if not len(left):
            self.stop_reason = self._why_none()
            return
        drawn = np.sort(
            self._rng.choice(left, min(self._n_candidates, len(left)), replace=False)
        )
        k, u, h, squared, norm = self._best_of(drawn)
        if k < 0:
            # None of those drawn adds anything: they need not be drawn again.
            self._left[drawn] = False
            return
        b = self._basis_size
        self.tri[: len(h), b] = h
        root = np.sqrt(squared) if problem.is_orthogonal else 1.0
        self.tri[b, b] = root
        c = self._correlation(u, k)
        a = c / root if problem.is_orthogonal else c / norm
        if problem.is_orthogonal:
            u = u / root
            if problem.alpha > 0:
                u[self.atoms.n_rows + self.n_steps] = np.sqrt(problem.alpha) / root
            self.Q[b] = u
            self._left[k] = False
        self._record(k, u, a, float(c @ c) / (squared if root != 1.0 else norm))
        self.n_steps += 1

    def _correlation(self, u: np.ndarray, k: int) -> np.ndarray:
        c = inner(self.R, u, self._w)
        if self.problem.is_orthogonal or not self.problem.alpha:
            return c
        again = self.chosen[: self.n_steps] == k
        first = self._offset
        loads = self.loads[first : first + self.n_steps][again]
        return c - self.problem.alpha * loads.sum(axis=0)

    def _best_of(
        self, drawn: np.ndarray
    ) -> tuple[int, np.ndarray, np.ndarray, float, float]:
        """Return the best atom of those drawn: index, direction, h, squared norms."""
        problem = self.problem
        U = np.zeros((len(drawn), self.Q.shape[1]))
        U[:, : self.atoms.n_rows] = self.atoms.columns(drawn)
        size = self._basis_size if problem.is_orthogonal else self._offset
        # Norms are those of the atoms less the constant, as in every method.
        const = (U * self._w) @ self.Q[: self._offset].T
        norms = np.einsum("ij,ij,j->i", U, U, self._w) - (const**2).sum(axis=1)
        norms += problem.alpha
        h = np.zeros((len(drawn), len(self.Q)))
        for _ in range(2):
            U, h = self._orthogonalise(U, h)
        squared = np.einsum("ij,ij,j->i", U, U, self._w) + problem.alpha
        C = np.array(
            [self._correlation(u, int(k)) for u, k in zip(U, drawn, strict=True)]
        )
        total = (C**2).sum(axis=1)
        by = squared if problem.method == "pre-fitting" else norms
        usable = (norms > 0) & (squared > problem.tol * norms)
        usable &= total > _NOISE**2 * self._squared_y * norms
        gain = np.where(usable, total / np.where(by > 0, by, 1.0), 0.0)
        i = int(first_largest(gain))
        k = int(drawn[i]) if i >= 0 else -1
        return k, U[i], h[i, :size], float(squared[i]), float(norms[i])


class _Pool:
    """Guessed directions whose correlations with all atoms are known.

    Entries are left as they were when fetched; the directions chosen since are taken
    out of an entry only when its turn comes.  ``P`` keeps the correlations of the
    latest directions, as far back as the oldest entry needs.
    """

    def __init__(self, shape: tuple[int, int], n_atoms: int, is_orthogonal: bool):
        size = 2 * _MOST
        self._is_orthogonal = is_orthogonal
        self._atom = np.full(size, -1)
        self._born = np.zeros(size, dtype=np.int64)
        self._slot: dict[int, int] = {}
        self._new = np.zeros(0, dtype=np.int64)
        self.U = np.zeros((size, shape[1]))
        self.G = np.zeros((size, n_atoms))
        self.h = np.zeros((size, shape[0]))
        self.squared = np.zeros(size)
        self._P = np.zeros((3 * _MOST if is_orthogonal else 0, n_atoms))
        self._n_kept = 0

    def find(self, k: int) -> int:
        """Return the slot of atom ``k``, or -1."""
        return self._slot.get(int(k), -1)

    def atoms(self) -> np.ndarray:
        """Return the pooled atoms, in the order of their slots."""
        return self._atom[self._atom >= 0]

    def drop(self, k: int) -> None:
        """Forget atom ``k``."""
        self._atom[self._slot.pop(int(k))] = -1

    def tidy(self, gain: np.ndarray, size: int) -> None:
        """Forget what is too old or not wanted any more, and leave room for a round."""
        for k in self.atoms():
            age = size - self._born[self._slot[int(k)]]
            if gain[k] == 0.0 or (self._is_orthogonal and age > _MOST):
                self.drop(k)
        pooled = self.atoms()
        excess = len(pooled) - (len(self._atom) - _MOST)
        if excess > 0:
            for k in pooled[np.argsort(gain[pooled], kind="stable")[:excess]]:
                self.drop(k)
        if self._n_kept + 2 * _MOST > len(self._P) and self._is_orthogonal:
            n_drop = self._n_kept - min(self._n_kept, _MOST)
            self._P[: self._n_kept - n_drop] = self._P[n_drop : self._n_kept]
            self._n_kept -= n_drop

    def add(self, index, U, h, squared, size) -> None:
        """Put fetched atoms into free slots; their correlations follow."""
        slots = np.flatnonzero(self._atom < 0)[: len(index)]
        self._atom[slots] = index
        self._born[slots] = size
        self._slot.update(zip(index.tolist(), slots.tolist(), strict=True))
        self.U[slots], self.h[slots], self.squared[slots] = U, h, squared
        self._new = slots

    def complete(self, correlations: np.ndarray) -> None:
        """Take the correlations of the atoms added last."""
        self.G[self._new] = correlations

    def products(self, index: np.ndarray, size: int) -> np.ndarray:
        """Return inner products of the pooled directions, brought up to date, with atoms.

        No work on the rows: they follow from the known correlations.
        """
        slots = np.flatnonzero(self._atom >= 0)
        out = self.G[np.ix_(slots, index)]
        if self._is_orthogonal:
            P = self._P[: self._n_kept]
            position = np.arange(size - self._n_kept, size)
            removed = P[:, self._atom[slots]].T
            removed *= position >= self._born[slots, None]
            out -= removed @ P[:, index]
        return out

    def new_correlations(self) -> np.ndarray:
        """Return room for the correlations of the next direction."""
        return self._P[self._n_kept]

    def keep(self, p: np.ndarray) -> None:
        """Count ``p``, written where :meth:`new_correlations` said, as kept."""
        self._n_kept += 1

    def bring_up_to_date(self, slot, k, Q, u, p, size) -> np.ndarray:
        """Write entry ``slot`` less the directions chosen since; return its triangle."""
        since = int(size - self._born[slot])
        u[:] = self.U[slot]
        p[:] = self.G[slot]
        h = self.h[slot, :size].copy()
        if since:
            P = self._P[self._n_kept - since : self._n_kept]
            recent = np.ascontiguousarray(P[:, k])
            subtract(u, Q[size - since : size], recent)
            subtract(p, P, recent)
            h[size - since :] = recent
        return h


def run(
    atoms: Atoms,
    pursuits: Sequence[Pursuit],
    watch: Callable[[Sequence[Pursuit]], None] | None = None,
) -> None:
    """Drive pursuits over one dictionary to their ends, sharing each pass.

    An interrupt (Ctrl-C) ends them where they are: the steps taken so far stand, and
    ``stop_reason`` says "interrupted".

    Parameters
    ----------
    atoms : Atoms
    pursuits : sequence of Pursuit
    watch : callable, optional
        Called after every round; may set a pursuit's ``stop_reason``.
    """
    try:
        _run(atoms, pursuits, watch or (lambda _: None))
    except KeyboardInterrupt:
        for p in pursuits:
            p.stop_reason = p.stop_reason or "interrupted"


def _run(
    atoms: Atoms,
    pursuits: Sequence[Pursuit],
    watch: Callable[[Sequence[Pursuit]], None],
) -> None:
    active = [p for p in pursuits if p.stop_reason is None]
    norms = _initial_norms(atoms, active)
    while active:
        wanted = [p.propose() for p in active]
        vectors = np.concatenate(wanted)
        answers = atoms.correlate(vectors) if len(vectors) else vectors
        start = 0
        for p, own in zip(active, wanted, strict=True):
            p.advance(answers[start : start + len(own)], norms.pop(id(p), None))
            start += len(own)
        watch(pursuits)
        active = [p for p in active if p.stop_reason is None]


def _initial_norms(atoms: Atoms, pursuits: Sequence[Pursuit]) -> dict[int, np.ndarray]:
    """Return each pursuit's squared norms, computed once for each weighting."""
    weights = {id(p.problem.weight): p.problem.weight for p in pursuits}
    if not weights:
        return {}
    norms = atoms.squared_norms(np.array(list(weights.values())))
    by_weight = dict(zip(weights, norms, strict=True))
    return {id(p): by_weight[id(p.problem.weight)] for p in pursuits}
