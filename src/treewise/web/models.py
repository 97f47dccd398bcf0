"""The models of a service, by name and version; a file that changes is read again, and swapped in when it is sound.

A request takes a ``ServedModel`` once and keeps it to its end, so that no request sees two models or none. A file that
cannot be read, or is being written, leaves the model that is served in its place.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treewise._lib.text import safe
from treewise.errors import ModelFormatError, ParameterError, TreewiseError, did_you_mean
from treewise.formats.model_file.model_file import loads
from treewise.tree.model import Model
from treewise.tree.tree import Tree

_DEFAULT_VERSION = "1"


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model as it is served, with the checksum of its file and the time it was read."""

    name: str
    version: str
    path: Path
    model: Model
    sha256: str
    loaded: float
    fingerprint: tuple[int, int, int]  # of the file: changes when it is written or replaced

    @property
    def tree(self) -> Tree | None:
        """The tree; None for an ensemble."""
        return self.model if isinstance(self.model, Tree) else None


def parse_source(text: str) -> tuple[str, str, Path]:
    """Return name, version and file of ``FILE``, ``NAME=FILE`` or ``NAME:VERSION=FILE``.

    >>> parse_source("models/credit.json"), parse_source("credit:2=new.json")
    (('credit', '1', PosixPath('models/credit.json')), ('credit', '2', PosixPath('new.json')))
    """
    given, equals, file = text.partition("=")
    if not equals or os.path.exists(text):
        path = Path(text).expanduser()
        return path.name.partition(".")[0], _DEFAULT_VERSION, path
    name, colon, version = given.partition(":")
    for part in (name, version) if colon else (name,):
        if not part or not all(c.isalnum() or c in "._-" for c in part):
            raise ParameterError(
                f"{safe(given)} is no name of a model.", hint="Names and versions have letters, digits, '.', '_', '-'."
            )
    return name, version or _DEFAULT_VERSION, Path(file).expanduser()


def _fingerprint(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def load_model(name: str, version: str, path: Path) -> ServedModel:
    """Read a model file."""
    try:
        fingerprint = _fingerprint(path)
        content = path.read_bytes()
        model = loads(content.decode("utf-8-sig"), safe(path.name))
    except OSError as error:
        raise ModelFormatError(f"{safe(path)} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ModelFormatError(f"{safe(path)} is not a model: it is not text.") from None
    return ServedModel(name, version, path, model, hashlib.sha256(content).hexdigest(), time.time(), fingerprint)


class ModelStore:
    """The models of a service; the first is the default, and of a name the version named last."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._models: dict[tuple[str, str], ServedModel] = {}
        self._refused: dict[tuple[str, str], tuple[int, int, int]] = {}  # files that could not be read again
        for source in sources:
            name, version, path = parse_source(source)
            if (name, version) in self._models:
                raise ParameterError(
                    f'two models are called "{safe(name)}", version {safe(version)}.',
                    hint="Name them: NAME=FILE or NAME:VERSION=FILE.",
                )
            self._models[name, version] = load_model(name, version, path)

    def all(self) -> list[ServedModel]:
        """Return every model, as named."""
        return list(self._models.values())

    def get(self, name: str | None = None, version: str | None = None) -> ServedModel:
        """Return a model; KeyError with a sentence if there is none."""
        served = self.all()
        name = served[0].name if name is None else name
        named = [model for model in served if model.name == name]
        if not named:
            raise KeyError(f'There is no model "{safe(name)}".{did_you_mean(name, [m.name for m in served])}')
        if version is None:
            return named[-1]
        for model in named:
            if model.version == version:
                return model
        raise KeyError(f'"{safe(name)}" has no version "{safe(version)}", only {", ".join(m.version for m in named)}.')

    def reload_changed(self, on_change: Callable[[ServedModel, str], None]) -> None:
        """Read files that changed; ``on_change`` is told of each, with the error if it stays as it was."""
        for key, served in list(self._models.items()):
            try:
                fingerprint = _fingerprint(served.path)
            except OSError:  # a file that is away for a moment
                continue
            if fingerprint == served.fingerprint or self._refused.get(key) == fingerprint:
                continue
            try:
                changed = load_model(*key, served.path)
            except Exception as error:  # a fault of one file must not end the watch over all
                self._refused[key] = fingerprint
                reason = str(error) if isinstance(error, TreewiseError) else f"{type(error).__name__}: {error}"
                on_change(served, reason)
            else:
                self._models[key] = changed
                on_change(changed, "")
