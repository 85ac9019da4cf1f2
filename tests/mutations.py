"""Model files that were damaged, or made to do harm."""

import copy
import hashlib
import json
import pickle
import struct
import warnings
import zipfile
from io import BytesIO

import numpy as np
from saved_models import answers

from pursuit.files import loads

START = 16
DIGITS = slice(27, 91)
NAMES = (
    "kernels.Gaussian",
    "kernels.Sum",
    "kernels.InMetric",
    "kernels.Constant",
    "kernels.Polynomial",
    "losses.Softmax",
    "losses.Poisson",
    "functions.Kernels",
    "functions.Joined",
    "functions.Columns",
    "functions.Framer",
    "paths.Orthogonal",
    "paths.Refitted",
    "basics.CSRArray",
    "basics.Array",
    "basics.RandomState",
    "basics.NumberType",
    "held_out.Fold",
    "held_out.Temperature",
    "held_out.Isotonic",
    "kmp.KMPClassifier",
    "kmp.KMPRanker",
    "kmp.KMPRegressor",
    "densities.ParzenWindows",
    "neighbors.HKNNClassifier",
    "sklearn.Pipeline",
    "sklearn.StandardScaler",
    "sklearn.FunctionTransformer",
    "sklearn.FeatureUnion",
    "sklearn.PCA",
    "sklearn.TransformedTargetRegressor",
    "basics.Function",
    "dictionaries.Callables",
    "os.system",
    "builtins.eval",
    "../../etc/passwd",
    "",
)
VALUES = (
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    7,
    1 << 31,
    1 << 62,
    1 << 70,
    # Too large for a float, and too large for a text.
    10**309,
    -(10**400),
    1 << 1100,
    0.5,
    -0.0,
    1e308,
    5e-324,
    {"float": "nan"},
    {"float": "inf"},
    {"float": "-inf"},
    {"float": "0x1"},
    "",
    "rbf",
    "cv",
    "precomputed",
    "__import__('os').system('false')",
    "../../model.pursuit",
    [],
    [[]],
    [1, 2],
    {},
    {"tuple": []},
    {"tuple": [1]},
    {"map": []},
    {"map": [[1, 2]]},
    {"map": [[[], 1]]},
    {"array": 0},
    {"array": 1},
    {"array": -1},
    {"array": 10**9},
    {"array": 1.5},
    {"type": "kernels.Gaussian", "gamma": {"float": "nan"}},
    {"type": "kernels.Linear"},
    {"type": "kernels.Polynomial", "degree": 10**9, "gamma": 1.0},
    {"type": "functions.Framer", "library": "os", "names": ["a", "b"]},
    {"type": "basics.NumberType", "name": "object"},
    {"type": "basics.Function", "name": "log"},
    {"type": "basics.Function", "name": "eval"},
    {"type": "basics.Slice", "start": 1 << 70, "stop": None, "step": 0},
    {"type": "sklearn.Pipeline", "steps": [], "verbose": False},
)
NUMBERS = (
    *(np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, -1.0, 1e18, 1e154),
    2.0**63,
)
WHOLES = (
    -1,
    0,
    1,
    2,
    1100,
    -1100,
    1 << 20,
    1 << 31,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
)


def repaired(content):
    """Return a file with the right checksum."""
    if len(content) < DIGITS.stop:
        return content
    content = bytearray(content)
    content[DIGITS] = b"0" * 64
    content[DIGITS] = hashlib.sha256(content).hexdigest().encode()
    return bytes(content)


def parts_of(content):
    """Return header and data of a file."""
    (length,) = struct.unpack("<I", content[12:16])
    return json.loads(content[START : START + length]), content[START + length :]


def packed(header, data):
    """Return a file of a header, as text or JSON, and data; its checksum is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text = text.replace(b'{"sha256": "', b'{"sha256":"', 1)
    text += b" " * (-len(text) % 8)
    return repaired(b"\x89PURSUIT" + struct.pack("<II", 1, len(text)) + text + data)


MEANINGS = ("arrays_exchanged", "less", "more", "numbers", "swap", "type", "value")


class Mutator:
    """Make hostile files out of sound ones."""

    def __init__(self, contents, seed):
        self.contents = contents
        self.rng = np.random.default_rng(seed)
        kinds = [name for name in dir(self) if name.startswith("make_")]
        # Those that most readers of bytes let pass are the most dangerous.
        self.kinds = [*kinds, *3 * [f"make_{name}" for name in MEANINGS]]

    def one(self):
        """Return the kind of a mutation, the number of the sound file, and the file."""
        number = int(self.rng.integers(len(self.contents)))
        content = self.contents[number]
        kind = self.kinds[int(self.rng.integers(len(self.kinds)))]
        made = getattr(self, kind)(content)
        return kind[5:], number, made

    def _pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def _whole(self, low, high):
        return int(self.rng.integers(low, max(high, low + 1)))

    # -- bytes ---------------------------------------------------------------------

    def _flipped(self, content):
        content = bytearray(content)
        for _ in range(self._whole(1, 9)):
            content[self._whole(0, len(content))] ^= 1 << self._whole(0, 8)
        return bytes(content)

    def make_bits(self, content):
        return self._flipped(content)

    def make_bits_repaired(self, content):
        return repaired(self._flipped(content))

    def make_bits_of_header(self, content):
        (length,) = struct.unpack("<I", content[12:16])
        header = self._flipped(content[START : START + length])
        return repaired(content[:START] + header + content[START + length :])

    def make_truncated(self, content):
        return content[: self._whole(0, len(content))]

    def make_truncated_repaired(self, content):
        return repaired(content[: self._whole(0, len(content))])

    def make_longer(self, content):
        return repaired(content + bytes(self._whole(1, 100)))

    def make_chunk(self, content):
        a, b = sorted(self._whole(START, len(content)) for _ in range(2))
        cut = content[:a] + content[b:]
        twice = content[:b] + content[a:]
        return repaired(cut if self.rng.random() < 0.5 else twice)

    def make_length(self, content):
        length = self._pick((0, 8, 1, 1 << 16, (1 << 32) - 8, 1 << 28, 96))
        return repaired(content[:12] + struct.pack("<I", length) + content[16:])

    def make_version(self, content):
        version = self._pick((0, 2, 1 << 31))
        return repaired(content[:8] + struct.pack("<I", version) + content[12:])

    def make_other_format(self, content):
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("../../model", bytes(100_000))
        others = (
            pickle.dumps({"a": np.zeros(3)}),
            archive.getvalue(),
            b"",
            b"{}",
            b"\x08\x08\x12\x07skl2onnx",
            content[:12],
        )
        other = self._pick(others)
        if self.rng.random() < 0.5:
            return other
        header, _ = parts_of(content)
        return packed(header, other)

    # -- text of the header --------------------------------------------------------

    def make_text(self, content):
        header, data = parts_of(content)
        text = json.dumps(header)
        deep = self._whole(1, 100_000)
        new = self._pick(
            (
                ("null", "NaN"),
                ("null", "-Infinity"),
                ("null", "1e999"),
                ("null", "1" * 5000),
                ("null", "[" * deep + "]" * deep),
                ("null", '{"a":' * deep + "1" + "}" * deep),
                ('"model":', '"model": null, "model":'),
                ('"type":', '"type": "kernels.Sum", "type":'),
                ('"about":', '"about": {"a": 1, "a": 2}, "more":'),
                ('"shape": [', '"shape": [NaN, '),
                ("true", '"\\ud800"'),
                ("]", "]]"),
                ("{", "[", 1),
            )
        )
        return packed(text.replace(*new[:2], 1).encode(), data)

    # -- trees ---------------------------------------------------------------------

    def _places(self, tree):
        """Return all places of a tree: the container and the key."""
        places, stack = [], [tree]
        while stack:
            node = stack.pop()
            keys = node if isinstance(node, dict) else range(len(node))
            for key in keys:
                places.append((node, key))
                if isinstance(node[key], dict | list):
                    stack.append(node[key])
        return places

    def _changed(self, content, change):
        header, data = parts_of(content)
        part = {"model": header["model"]}
        for _ in range(self._pick((1, 1, 1, 2, 4))):
            change(self._places(part))
        return packed({**header, **part}, data)

    def make_value(self, content):
        def change(places):
            node, key = self._pick(places)
            node[key] = copy.deepcopy(self._pick(VALUES))

        return self._changed(content, change)

    def make_swap(self, content):
        def change(places):
            (a, i), (b, j) = self._pick(places), self._pick(places)
            first, second = copy.deepcopy(a[i]), copy.deepcopy(b[j])
            a[i], b[j] = second, first

        return self._changed(content, change)

    def make_less(self, content):
        def change(places):
            if len(places) > 1:
                node, key = self._pick(places[1:])
                del node[key]

        return self._changed(content, change)

    def make_more(self, content):
        def change(places):
            node, key = self._pick(places)
            if isinstance(node, list):
                node.insert(key, copy.deepcopy(node[key]))
            else:
                node[self._pick(("more", "type", "array", "gamma", "float"))] = (
                    copy.deepcopy(self._pick(VALUES))
                )

        return self._changed(content, change)

    def make_type(self, content):
        def change(places):
            named = [(n, k) for n, k in places if k == "type"]
            if named:
                node, key = self._pick(named)
                others = [n[k] for n, k in named]
                node[key] = self._pick((*NAMES, *others))

        return self._changed(content, change)

    def make_arrays_exchanged(self, content):
        n = len(parts_of(content)[0]["arrays"])

        def change(places):
            numbered = [(node, k) for node, k in places if k == "array"]
            if numbered:
                node, key = self._pick(numbered)
                node[key] = self._whole(0, n)

        return self._changed(content, change)

    # -- arrays --------------------------------------------------------------------

    def make_entry(self, content):
        header, data = parts_of(content)
        entry = self._pick(header["arrays"])
        kind = self._pick(("dtype", "shape", "offset", "bytes", "permuted", "split"))
        odd = (-1, 0, 1, 1 << 40, 1 << 62, 1.5, None, "8", [], True)
        if kind == "dtype":
            entry["dtype"] = self._pick(
                (
                    "<f8",
                    "<f4",
                    "<i8",
                    "<i4",
                    "|u1",
                    "|b1",
                    "|O8",
                    "<U4",
                    ">f8",
                    "|V8",
                    3,
                )
            )
        elif kind == "offset":
            entry["offset"] = self._pick((*odd, 8, entry["offset"] + 8))
        elif kind == "bytes":
            header["bytes"] = self._pick((*odd, header["bytes"] + 8))
        elif kind == "permuted":
            entry["shape"] = entry["shape"][::-1]
        elif kind == "split":
            size = int(np.prod(entry["shape"]))
            entry["shape"] = self._pick(([size], [1, size], [size, 1], [0, size], []))
        elif entry["shape"]:
            entry["shape"][self._whole(0, len(entry["shape"]))] = self._pick(odd)
        else:
            entry["shape"] = [self._pick(odd)]
        return packed(header, data)

    def make_numbers(self, content):
        header, data = parts_of(content)
        data = bytearray(data)
        for _ in range(self._pick((1, 1, 3))):
            entry = self._pick(header["arrays"])
            dtype, size = np.dtype(entry["dtype"]), int(np.prod(entry["shape"]))
            if not size:
                continue
            array = np.frombuffer(data, dtype, size, entry["offset"])
            places = self.rng.integers(size, size=self._pick((1, 2, size)))
            if dtype.kind == "f":
                array[places] = self._pick(NUMBERS)
            elif dtype.kind == "i":
                limits = np.iinfo(dtype)
                array[places] = np.clip(self._pick(WHOLES), limits.min, limits.max)
        return packed(header, bytes(data))


def outcome(content, X):
    """Return what comes of a file, "refused", "refused later" or "answers".

    Anything else is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = loads(content)
        except ValueError:
            return "refused"
        try:
            found = answers(model, X)
        except ValueError:
            return "refused later"
    return "answers" if found else "answers nothing"
