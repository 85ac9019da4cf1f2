"""A file with the tallies of a fit, from which a killed run goes on."""

from __future__ import annotations

import io
import json
import os
import time
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit._writing import write_whole

_FORMAT = 1
# Bytes in front of the content, which tell whether it is damaged.
_DIGEST = 16
# Seconds between two saves, and the least ratio of other work to saving.
_EVERY, _RATIO = 10.0, 20.0


class CheckpointError(OSError):
    """A checkpoint that cannot be written."""


class Checkpoint:
    """The tallies of the trips that are complete, and of the one under way.

    Parameters
    ----------
    path : str or path
        File to write, or to go on from if it exists.
    belongs_to : str
        What identifies rows and settings. A file of others is refused.
    """

    def __init__(self, path: str | os.PathLike[str], belongs_to: str) -> None:
        self._path = Path(path).expanduser()
        self._belongs_to = blake2b(belongs_to.encode(), digest_size=16).hexdigest()
        self._entries: dict[str, dict[str, Any]] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._latest, self._took = time.monotonic(), 0.0
        if self._path.exists():
            self._read()
        else:
            # Tells now, and not after an hour, if the file cannot be written.
            self._write("at all")

    def __str__(self) -> str:
        return f"checkpoint={str(self._path)!r}"

    @property
    def is_due(self) -> bool:
        """Whether so much was done since the last save that another one pays."""
        waited = time.monotonic() - self._latest
        return waited > max(_EVERY, _RATIO * self._took)

    def resumed(self, key: str, tally: Any) -> tuple[Any, int, bool]:
        """Return the tally of a trip so far, its blocks, and whether it is complete.

        ``tally`` is that of no rows, which tells the kinds of its fields.
        """
        entry = self._entries.get(key)
        if entry is None:
            return tally, 0, False
        restored = _restored(tally, f"{key}/", entry["fields"], self._arrays)
        return restored, int(entry["n_blocks"]), bool(entry["is_complete"])

    def save(
        self, key: str, tally: Any, n_blocks: int, is_complete: bool = False
    ) -> None:
        """Write the tally of a trip, beside those of the trips before."""
        start = time.monotonic()
        arrays: dict[str, np.ndarray] = {}
        kinds = _taken(tally, f"{key}/", arrays)
        entry = {"n_blocks": n_blocks, "is_complete": is_complete, "fields": kinds}
        for name in [name for name in self._arrays if name.startswith(f"{key}/")]:
            del self._arrays[name]
        self._entries[key] = entry
        self._arrays |= arrays
        self._write(f"after block {n_blocks} of the trip {key!r}")
        self._latest = time.monotonic()
        self._took = self._latest - start

    def _write(self, when: str) -> None:
        content = io.BytesIO()
        header = {
            "format": _FORMAT,
            "belongs_to": self._belongs_to,
            "trips": self._entries,
        }
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        content.write(bytes(_DIGEST))
        np.savez(content, header=text, **self._arrays)  # type: ignore[arg-type]
        whole = content.getbuffer()
        whole[:_DIGEST] = _digest(whole[_DIGEST:])
        try:
            write_whole(self._path, whole)
        except OSError as error:
            is_kept = self._path.exists()
            raise CheckpointError(
                f"{self} cannot be written {when}: {error}."
                + " What was written before is still valid: a fit with the same "
                "checkpoint goes on from there." * is_kept
            ) from error

    def _read(self) -> None:
        try:
            whole = self._path.read_bytes()
        except OSError as error:
            raise ValueError(self._unreadable(str(error))) from None
        if whole[:_DIGEST] != _digest(whole[_DIGEST:]):
            raise ValueError(self._unreadable("it is damaged, or another file"))
        with np.load(io.BytesIO(whole[_DIGEST:]), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        version, belongs_to = header["format"], header["belongs_to"]
        if version != _FORMAT:
            raise ValueError(self._unreadable(f"its format is {version!r}"))
        if belongs_to != self._belongs_to:
            raise ValueError(
                f"{self} belongs to a fit of other rows, or "
                "with other parameters: delete the file, or name another one."
            )
        self._entries, self._arrays = header["trips"], arrays

    def _unreadable(self, why: str) -> str:
        return (
            f"{self} is no readable checkpoint ({why}): delete the file, or name "
            "another one."
        )


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


# -- tallies as arrays -------------------------------------------------------------


def _taken(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return the kind of a value, a word or a tree of such; put arrays in their place.

    The arrays are copied, because tallies change.
    """
    if value is None:
        return "none"
    if isinstance(value, np.ndarray):
        arrays[place] = np.array(value)
        return "array"
    if sp.issparse(value):
        csr = sp.csr_array(value)
        parts = (csr.data, csr.indices, csr.indptr, np.array(csr.shape))
        for i, part in enumerate(parts):
            arrays[f"{place}{i}"] = np.array(part)
        return "csr"
    if is_dataclass(value):
        return {
            f.name: _taken(getattr(value, f.name), f"{place}{f.name}/", arrays)
            for f in fields(value)
        }
    arrays[place] = np.array(value)
    return "number"


def _restored(value: Any, place: str, kind: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value that was taken; ``value`` is an empty one of its class."""
    if isinstance(kind, dict):
        parts = {
            name: _restored(getattr(value, name), f"{place}{name}/", part, arrays)
            for name, part in kind.items()
        }
        return type(value)(**parts)
    if kind == "none":
        return None
    if kind == "csr":
        data, indices, indptr, shape = (arrays[f"{place}{i}"] for i in range(4))
        return sp.csr_array((data, indices, indptr), shape=tuple(shape))
    return arrays[place].item() if kind == "number" else arrays[place].copy()
