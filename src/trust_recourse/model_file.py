"""The model file: arrays in one safetensors file, and a JSON header with a numbered format.

Nothing in a file is executed. Reading checks everything before anything is believed: the size, the
format's number, the names, types and shapes of the arrays, and the fingerprint over all of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from trust_recourse import strict_json
from trust_recourse.files import FileError, write_whole

FORMAT = 2
READ = ("1", "2")  # format 1 knew no dominance of clauses
KIND = "trust-recourse model"
MOST_BYTES = 4 << 30

Arrays = dict[str, NDArray[Any]]


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
        "fingerprint": fingerprint(arrays, header),
    }
    data = save_tensors({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata=body)
    write_whole(path, data)


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
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
    header = _parse(source, meta.get("header", ""))
    try:
        expected = fingerprint(arrays, header)
    except ValueError as error:
        raise ModelFileError(f"{source}: its header holds {error}") from error
    if meta.get("fingerprint") != expected:
        raise ModelFileError(
            f"{source}: the contents do not match the fingerprint; the file was changed after it "
            "was saved"
        )
    return arrays, header


def _metadata(source: Path, data: bytes) -> dict[str, str]:
    """The metadata, read by hand so that a newer format is named before it is parsed."""
    length = int.from_bytes(data[:8], "little") if len(data) >= 8 else len(data)
    raw = data[8 : 8 + length]
    try:
        meta = _json(raw)["__metadata__"] if length <= len(data) - 8 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        meta = None
    if not isinstance(meta, dict) or meta.get("kind") != KIND:
        raise ModelFileError(
            f"{source}: not a {KIND} file, or cut short; expected one written by `trust-recourse "
            "fit`, or in Python by model.save(path)"
        )
    number = meta.get("format")
    if number not in READ:
        raise ModelFileError(
            f"{source}: format {number}; this version reads up to format {FORMAT}. "
            "Update trust-recourse, or save the model with this version"
        )
    return meta


def _parse(source: Path, text: str) -> dict[str, Any]:
    try:
        header = _json(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{source}: its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise ModelFileError(f"{source}: its header is {type(header).__name__}, expected an object")
    return header


def _json(text: str | bytes) -> Any:
    """JSON in which every name says one thing: of two values readers may take either."""
    return json.loads(text, object_pairs_hook=strict_json.once)
