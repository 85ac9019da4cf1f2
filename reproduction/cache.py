"""Store the result of each task in a file, so that an interrupted run can continue."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pursuit import __version__

from .experiment import Task
from .origin import UNKNOWN, digests


@dataclass(frozen=True)
class Cache:
    """A folder of small JSON files, one for each task; None stores nothing.

    A file holds the task's result, its `key` and where it comes from
    (`origin.made_here`). Results of other sources of the library are used: most changes
    do not affect them, and they take hours.
    """

    folder: Path | None

    def load(self, task: Task) -> dict[str, Any] | None:
        """Return the stored record of a task, or None if there is none.

        Torn files count as absent, and so do results of unknown data or of data that
        have changed.
        """
        record = self._read(task)
        if record is None or record.get("data") != digests(task.needs or ()):
            return None
        return {"sources": UNKNOWN, **record}

    def store(self, task: Task, record: dict[str, Any]) -> None:
        """Store the record of a task; an interrupt leaves all of it or nothing."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(task)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        text = json.dumps({**record, "key": key(task)}, indent=1)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)

    def _read(self, task: Task) -> dict[str, Any] | None:
        if self.folder is None:
            return None
        try:
            record = json.loads(self._path(task).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        is_whole = isinstance(record, dict) and isinstance(record.get("result"), dict)
        return record if is_whole and record.get("key") == key(task) else None

    def _path(self, task: Task) -> Path:
        assert self.folder is not None
        digest = hashlib.sha256(json.dumps(key(task)).encode()).hexdigest()[:16]
        return self.folder / f"{task.run.__name__}-{digest}.json"


def key(task: Task) -> dict[str, Any]:
    """Return the key of a task's file: function, its version, arguments, library.

    Of the module's name only the last part counts, so that results are still found
    after the module has moved.
    """
    module = sys.modules[task.run.__module__]
    family = module.__name__.rpartition(".")[2]
    return {
        "task": f"{family}.{task.run.__qualname__}",
        "code_version": getattr(module, "CODE_VERSION", 1),
        "pursuit": __version__,
        # As JSON returns them: tuples become lists.
        "arguments": json.loads(json.dumps(dict(task.arguments), sort_keys=True)),
    }
