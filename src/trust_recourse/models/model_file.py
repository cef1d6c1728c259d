"""The model file: arrays in one safetensors file, and a JSON header with a numbered format.

Nothing in a file is executed. Reading checks everything before anything is believed: the size, the
format's number, the names, types and shapes of the arrays, and the fingerprint over all of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from trust_recourse.io import strict_json
from trust_recourse.io.files import FileError, write_whole
from trust_recourse.io.scalars import plain

FORMAT = 1
KIND = "trust-recourse model"
MOST_BYTES = 4 << 30

Model = TypeVar("Model")
Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]
Makers = Mapping[str, Callable[[Arrays, Header], Model]]  # of each kind of model, by its name


class ModelFileError(FileError):
    """A model file that cannot be used, with the reason."""


def fingerprint(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> str:
    """SHA-256 over the header and every array: the identity of a model."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write(path: str | os.PathLike[str], arrays: Arrays, header: Mapping[str, Any]) -> None:
    """Write a model file, whole or not at all."""
    body = {
        "kind": KIND,
        "format": str(FORMAT),
        "header": json.dumps(header, sort_keys=True, allow_nan=False),
        "fingerprint": fingerprint(arrays, {**header, "format": FORMAT}),
    }
    data = save_tensors({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata=body)
    write_whole(path, data)


def read(path: str | os.PathLike[str]) -> tuple[Arrays, Header]:
    """The arrays and the header of a model file that passed every check."""
    source = Path(path)
    if not source.is_file():
        raise ModelFileError(f"{source}: there is no such file")
    size = source.stat().st_size
    if size > MOST_BYTES:
        raise ModelFileError(f"{source}: {size:,} bytes; a model file has at most {MOST_BYTES:,}")
    data = source.read_bytes()
    meta = _metadata(source, data)
    try:
        arrays = load_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(
            f"{source}: damaged or cut short ({error}); save the model again"
        ) from error
    try:
        header = _json(meta.get("header", ""))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{source}: its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise ModelFileError(f"{source}: its header is {type(header).__name__}, expected an object")
    try:
        expected = fingerprint(arrays, {**header, "format": FORMAT})
    except ValueError as error:
        raise ModelFileError(f"{source}: its header holds {error}") from error
    if meta.get("fingerprint") != expected:
        raise ModelFileError(
            f"{source}: the contents do not match the fingerprint; the file was changed after it "
            "was saved"
        )
    return arrays, header


def restored(path: str | os.PathLike[str], makers: Makers[Model]) -> Model:
    """The model of a file that passed every check, made by whichever of these makes its kind."""
    arrays, header = read(path)
    kind = header.get("machine")
    if not isinstance(kind, str) or kind not in makers:
        raise ModelFileError(
            f"{path}: its contents do not make a model: it holds a {kind}, expected a "
            f"{' or a '.join(makers)}"
        )
    try:
        return makers[kind](arrays, header)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ModelFileError(
            f"{path}: its contents do not make a model ({type(error).__name__}: {error})"
        ) from error


def _metadata(source: Path, data: bytes) -> dict[str, str]:
    """The metadata, read by hand so that another format is named before it is parsed."""
    length = int.from_bytes(data[:8], "little") if len(data) >= 8 else len(data)
    raw = data[8 : 8 + length]
    try:
        meta = _json(raw)["__metadata__"] if length <= len(data) - 8 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        meta = None
    if not isinstance(meta, dict) or meta.get("kind") != KIND:
        raise ModelFileError(
            f"{source}: not a {KIND} file, or cut short; expected one written by `trust-recourse "
            "fit` or `import`, or in Python by model.save(path)"
        )
    number = meta.get("format")
    if number != str(FORMAT):
        raise ModelFileError(
            f"{source}: format {number}; this version reads format {FORMAT}. "
            "Update trust-recourse, or save the model with this version"
        )
    return meta


def _json(text: str | bytes) -> Any:
    """JSON in which every name says one thing: of two values readers may take either."""
    return json.loads(text, object_pairs_hook=strict_json.once)


# ---------------------------------------------------------------- what every kind of model has

DECISION = frozenset(("decision_threshold", "wanted"))  # where they are known


def require(holds: Any, name: str, expected: str) -> None:
    """Refuse a part of a file that is not what it should be."""
    if not holds:
        raise ValueError(f"'{name}': expected {expected}")


def decision(model: Any) -> Header:
    """How it is decided by the model, as far as that was said: no part of what it predicts."""
    known = {name: getattr(model, f"{name}_", None) for name in sorted(DECISION)}
    return {name: plain(value) for name, value in known.items() if value is not None}


def labels(classes: Any, kind: Any) -> NDArray[Any]:
    """The classes, in the type that holds them just so."""
    known = isinstance(classes, list) and len(classes) >= 2
    known = known and all(isinstance(c, (bool, int, float, str)) for c in classes)
    known = known and len({type(c) for c in classes}) == 1 and len({*classes}) == len(classes)
    require(known, "classes", "two plain labels of one type, or more")
    text = isinstance(classes[0], str)
    fits = re.fullmatch(r"\|O|<U\d+" if text else r"\|b1|[<|][iuf][1248]", str(kind))
    require(fits, "classes_dtype", "one that fits the labels")
    held = np.array(classes, dtype=object if kind == "|O" else str if text else kind)
    kept = [(type(c), c) for c in held.tolist()] == [(type(c), c) for c in classes]
    require(kept, "classes_dtype", "one that fits the labels")
    return held
