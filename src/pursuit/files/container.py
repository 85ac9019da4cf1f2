r"""The bytes of a model file: a header of JSON, then arrays.

    8 bytes   magic, ``\x89PURSUIT``
    4 bytes   version of the format, little-endian
    4 bytes   length n of the header, little-endian, a multiple of 8
    n bytes   header: JSON in UTF-8, padded with spaces
    the rest  arrays, each at a multiple of 8 bytes after the header

Everything is checked before memory is reserved for it: lengths against the file's real
size, types of arrays by a list, shapes against bytes. Nothing here runs code of a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from pursuit._writing import write_whole

__all__ = ["MAX_DEPTH", "VERSION", "Contents", "pack", "read", "unpack", "write"]

MAGIC = b"\x89PURSUIT"
VERSION = 1
# Types of arrays, as NumPy writes them.
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1", "|b1")
# Levels of lists and objects in the header.
MAX_DEPTH = 200
# Python's objects take up to 30 times the room of their text.
MAX_HEADER = 1 << 24
_MAX_DIMENSIONS = 8
_MAX_LENGTH = 1 << 40

_PRELUDE = struct.Struct("<8sII")
# The checksum is the first member of the header, so that its place is known. It is that
# of the whole file with zeros in its place.
_FIRST = b'{"sha256":"'
_DIGITS = slice(_PRELUDE.size + len(_FIRST), _PRELUDE.size + len(_FIRST) + 64)
_NO_DIGITS = b"0" * 64

_MEMBERS = {"sha256", "arrays", "bytes", "about", "model", "formula"}

# A string, also one without an end, so that none is looked at twice; or a bracket.
_TOKENS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_LEVELS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}

# How files of other kinds begin, for the error.
_OTHERS = (
    (b"PK\x03\x04", "a zip archive (.npz, .zip, .skops)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x93NUMPY", "an array of NumPy (.npy)"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x89PNG", "a PNG picture"),
    (b"PAR1", "a Parquet table"),
    (b"\x7fELF", "a program"),
    (b"%PDF", "a PDF document"),
)


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds, after all checks of its bytes.

    Attributes
    ----------
    model : JSON
        Tree that restores the estimator.
    formula : JSON
        Tree of what a prediction computes; None if there is none.
    about : dict
        Versions and other facts, for people.
    arrays : tuple of ndarray
        Views of the file's bytes, which belong to them alone.
    """

    model: Any
    formula: Any
    about: dict[str, Any]
    arrays: tuple[np.ndarray, ...]


# -- write -------------------------------------------------------------------------


def pack(
    model: Any, formula: Any, about: dict[str, Any], arrays: Sequence[np.ndarray]
) -> bytes:
    """Return the bytes of a file. Equal contents have equal bytes."""
    entries: list[dict[str, Any]] = []
    parts: list[Any] = []
    end = 0
    for array in arrays:
        where = {"shape": list(array.shape), "offset": end}
        entries.append({"dtype": array.dtype.str, **where})
        padding = bytes(-array.nbytes % 8)
        # Without a copy, which large arrays would be.
        parts += [array.reshape(-1).data if array.size else b"", padding]
        end += array.nbytes + len(padding)
    header = {
        "sha256": "0" * 64,
        "about": about,
        "model": model,
        "formula": formula,
        "arrays": entries,
        "bytes": end,
    }
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
    _check_depth(text)
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(
            f"The model has {len(text)} bytes of words and parameters besides its "
            f"arrays; a model file has room for {MAX_HEADER}."
        )
    head = bytearray(_PRELUDE.pack(MAGIC, VERSION, len(text)) + text)
    digest = hashlib.sha256(head)
    for part in parts:
        digest.update(part)
    head[_DIGITS] = digest.hexdigest().encode("ascii")
    return b"".join([head, *parts])


def write(path: str | os.PathLike[str] | IO[bytes], content: bytes) -> None:
    """Write a file at once: after a crash there is the old file, or the new one."""
    if hasattr(path, "write"):
        path.write(content)
        return
    write_whole(_path(path), content)


def _path(path: Any) -> Path:
    if isinstance(path, bytes) or not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be a str, a pathlib.Path or an open binary file, got "
            f"{type(path).__name__}."
        )
    return Path(path).expanduser()


# -- read --------------------------------------------------------------------------


def read(path: str | os.PathLike[str] | IO[bytes]) -> Contents:
    """Return what a file holds; raise a ValueError if it is not a sound model file."""
    if hasattr(path, "read"):
        return _read(cast(IO[bytes], path), None)
    source = _path(path)
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder, not a model file.")
    if not source.exists():
        raise FileNotFoundError(f"There is no file {source}.")
    with open(source, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None


def unpack(content: bytes) -> Contents:
    """Return what the bytes of a file hold, as `read`."""
    import io

    return _read(io.BytesIO(content), len(content))


def _read(file: IO[bytes], size: int | None) -> Contents:
    # A file of another kind may be large: look at its first bytes only.
    start = file.read(_PRELUDE.size)
    if not isinstance(start, bytes):
        raise TypeError("The file is open for text: open it with mode 'rb'.")
    length = _header_length(start, size)
    text = file.read(length)
    if len(text) < length:
        raise ValueError("The file ends within its header: it was cut off.")
    header = _header(text)
    data = _data(file, header, None if size is None else size - len(start) - length)
    entries = _entries(header)
    _check_sum(header, start + text, data)
    return Contents(
        model=header["model"],
        formula=header["formula"],
        about=header["about"],
        arrays=tuple(_array(data, *entry) for entry in entries),
    )


def _data(file: IO[bytes], header: dict[str, Any], n_bytes: int | None) -> bytearray:
    """Return the bytes of all arrays; the size of the file, if known, limits them."""
    if n_bytes is None:
        data = bytearray(file.read())
    else:
        _check_bytes(header, n_bytes)
        # At once, in the place where the arrays of the model will be.
        data = bytearray(n_bytes)
        n_read = cast(Any, file).readinto(data)
        del data[n_read:]
    _check_bytes(header, len(data))
    return data


def _header_length(start: bytes, size: int | None) -> int:
    """Return the length of the header, after checks of the first bytes."""
    if not start:
        raise ValueError("The file is empty.")
    if not start.startswith(MAGIC):
        raise ValueError(f"This is no model file of pursuit{_likeness(start)}.")
    if len(start) < _PRELUDE.size:
        raise ValueError(f"The file ends after {len(start)} bytes: it was cut off.")
    _, version, length = _PRELUDE.unpack(start)
    if version > VERSION:
        raise ValueError(
            f"The file has format version {version}, this pursuit reads up to "
            f"{VERSION}: update pursuit."
        )
    if version < 1:
        raise ValueError(f"Format version {version} does not exist.")
    if length % 8 or length > MAX_HEADER:
        raise ValueError(f"A header of {length} bytes cannot be.")
    if size is not None and length > size - _PRELUDE.size:
        raise ValueError(
            f"The header takes {length} bytes, but the file has only {size}: it was "
            "cut off."
        )
    return int(length)


def _likeness(start: bytes) -> str:
    """Return what a file that begins so looks like, as the end of a sentence."""
    hint = ": load it as it was saved, and save it with pursuit.save"
    for magic, name in _OTHERS:
        if start.startswith(magic):
            return f", it looks like {name}"
    if start[:1] == b"\x80" and start[1:2] <= b"\x05":
        return f", it looks like a pickle (also of joblib){hint}"
    if start[:1] == b"\x08" and start[2:3] in (b"\x12", b"\x1a", b":"):
        return ", it looks like an ONNX model: run it with onnxruntime"
    if start[:1] in b"xX" and start[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
        return f", it looks like a compressed pickle of joblib{hint}"
    try:
        text = start.decode("utf-8", errors="strict")
    except UnicodeDecodeError:
        return ""
    words = text.split()
    return f", it looks like text ({words[0][:12]!r} ...)" if words else ""


def _header(text: bytes) -> dict[str, Any]:
    if not text.startswith(_FIRST):
        raise ValueError("The header does not begin with its checksum.")
    _check_depth(text)
    try:
        header = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError("The header is nested too deeply.") from None
    except UnicodeDecodeError:
        raise ValueError("The header is not text in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"The header is not JSON: {error}.") from None
    if not isinstance(header, dict) or set(header) != _MEMBERS:
        raise ValueError("The header lacks a member, or has one too many.")
    if not isinstance(header["about"], dict):
        raise ValueError("about must be an object.")
    return header


def _check_depth(text: bytes) -> None:
    """Raise a ValueError if JSON is nested so deeply that recursion might fail."""
    depth = 0
    for token in _TOKENS.finditer(text):
        depth += _LEVELS.get(token[0], 0)
        if depth > MAX_DEPTH:
            raise ValueError(
                f"The header is nested more than {MAX_DEPTH} levels deep, as by a sum "
                "of very many kernels."
            )


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("The header names a member twice.")
    return members


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"The number {text[:20]} is too large.")
    return number


Entry = tuple[np.dtype[Any], tuple[int, ...], int, int]


def _check_bytes(header: dict[str, Any], n_bytes: int) -> None:
    promised = header["bytes"]
    if not _is_whole(promised) or promised != n_bytes:
        raise ValueError(
            f"The header promises {promised!r:.30} bytes of arrays, the file has "
            f"{n_bytes}."
        )


def _entries(header: dict[str, Any]) -> list[Entry]:
    """Return type, shape, first byte and number of entries of each array, checked."""
    n_bytes = header["bytes"]
    if not isinstance(header["arrays"], list):
        raise ValueError("arrays must be a list.")
    entries, end = [], 0
    for number, entry in enumerate(header["arrays"]):
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "offset"}:
            raise ValueError(f"Array {number} needs dtype, shape and offset.")
        dtype, shape = _dtype(entry["dtype"], number), _shape(entry["shape"], number)
        count = math.prod(shape)
        # One after another: arrays neither overlap nor leave room.
        if not _is_whole(entry["offset"]) or entry["offset"] != end:
            raise ValueError(f"Array {number} does not follow the one before.")
        if count * dtype.itemsize > n_bytes - end:
            raise ValueError(f"Array {number} is larger than the file.")
        entries.append((dtype, shape, end, count))
        end += count * dtype.itemsize
        end += -end % 8
    if end != n_bytes:
        raise ValueError(f"The arrays take {end} bytes, the file has {n_bytes}.")
    return entries


def _dtype(name: Any, number: int) -> np.dtype[Any]:
    if not isinstance(name, str) or name not in DTYPES:
        raise ValueError(
            f"Array {number} has the type {name!r:.30}; it must be one of "
            f"{', '.join(DTYPES)}."
        )
    return np.dtype(name)


def _shape(shape: Any, number: int) -> tuple[int, ...]:
    is_list = isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS
    if not is_list or not all(_is_whole(n) and n <= _MAX_LENGTH for n in shape):
        raise ValueError(f"Array {number} has the shape {shape!r:.60}.")
    if math.prod(n for n in shape if n) > _MAX_LENGTH:
        raise ValueError(f"Array {number} has the shape {shape!r:.60}.")
    return tuple(shape)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_sum(header: dict[str, Any], head: bytes, data: bytearray) -> None:
    digest = hashlib.sha256(head[: _DIGITS.start])
    digest.update(_NO_DIGITS)
    digest.update(head[_DIGITS.stop :])
    digest.update(data)
    if header["sha256"] != digest.hexdigest():
        raise ValueError("The checksum is wrong: the file was damaged or changed.")


def _array(
    data: bytearray,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    start: int,
    count: int,
) -> np.ndarray:
    if dtype.kind == "b":
        raw = np.frombuffer(data, np.uint8, count, start)
        if raw.max(initial=0) > 1:
            raise ValueError("An array of Booleans holds another number than 0 and 1.")
    return np.frombuffer(data, dtype, count, start).reshape(shape)
