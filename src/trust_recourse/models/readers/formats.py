"""Models in files of their own libraries: safe formats alone, each known by how it begins.

No file is unpickled. Of a file's bytes a reader's `opened` makes what its `read` takes.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trust_recourse.io.files import FileError
from trust_recourse.io.scalars import plain
from trust_recourse.models.readers.columns import ModelColumns
from trust_recourse.models.sums.ensemble import Tree

MOST_BYTES = 2 << 30
HEAD = 64  # bytes that a file is known by


class Format(NamedTuple):
    """A library's own file: what it is called, how it begins, and who reads it."""

    name: str
    begins: bytes  # a pattern
    reader: str


FORMATS = (
    Format("LightGBM text", rb"tree\r?\n", "lightgbm"),
    Format("XGBoost JSON", rb'\s*\{\s*"learner"', "xgboost"),
    Format("XGBoost UBJSON", rb"\{L\0{7}\x07learner", "xgboost"),
    Format("CatBoost JSON", rb'\s*\{\s*"(ctr_data|features_info)"', "catboost"),
    Format("EBM JSON", rb'\s*\{\s*"version"\s*:\s*"[\d.]+"\s*,\s*"ebm"', "interpret"),
    Format("skops", rb"PK\x03\x04", "sklearn"),
    Format("scorecard CSV", rb'(?i)(\xef\xbb\xbf)?[\w ",;\t]*\b(feature|points)\b', "scorecard"),
)
# from protocol 2 on, before, and as joblib packs it: by zlib, gzip, bzip2, xz, lzma and lz4
PICKLE = (
    rb"\x80[\x02-\x05]|c[\w.]+\n|\([dl]p0\n|[\]}]q\0|"
    rb"x[\x01\x5e\x9c\xda]|\x1f\x8b|BZh|\xfd7zXZ|\x5d\0\0|\x04\x22M\x18"
)
CONVERT = (
    "this is a pickle, or packed as joblib packs one: to open it is to run whatever it says, so it "
    "stays closed. If you trust it, load it in Python and save it as its library does: "
    "model.booster_.save_model('m.txt') for LightGBM, model.save_model('m.ubj') for XGBoost, "
    "model.save_model('m.json', format='json') for CatBoost, "
    "model.to_json('m.json') for an EBM, skops.io.dump(model, 'm.skops') for scikit-learn and for "
    "pipelines"
)


def opened(source: Path) -> tuple[Format, Any]:
    """The model in a file, as its reader takes it; nothing of what the file says is run."""
    if not source.is_file():
        raise FileError(f"{source}: there is no such file")
    with source.open("rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise FileError(f"{source}: more than {MOST_BYTES:,} bytes, the most that is read")
    known = _known(source, data[:HEAD])
    reader = import_module(f"{__package__}.{known.reader}")
    return known, reader.opened(data)


def _known(source: Path, head: bytes) -> Format:
    for each in FORMATS:
        if re.match(each.begins, head):
            return each
    if re.match(PICKLE, head):
        raise FileError(f"{source}: {CONVERT}")
    if re.match(rb'.{8}\{"__metadata__"', head, re.DOTALL):
        raise FileError(f"{source}: a file as `import` writes it; every command takes it as it is")
    *names, last = (each.name for each in FORMATS)
    raise FileError(f"{source}: no file that is known; expected {', '.join(names)} or {last}")


# ---------------------------------------------------------------- what a file contains


class Content(NamedTuple):
    """One column of a model's file."""

    column: str  # its name in the file, or its place where the file has no names
    feature: str  # of the schema
    splits: int | None  # of trees on it; None of a model without trees
    categories: tuple[Any, ...]  # that the file lists
    missing: str  # where a blank goes; "" where no split shows it

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return self._asdict() | {"categories": list(self.categories)}


def contents(read: Any, blanks: Any, columns: Any) -> tuple[Content, ...]:
    """The columns of a model that was read, in the order of its file where that has one.

    `blanks` is the same model as it is read if every number may be blank, None if none may.
    """
    own, names = (columns if isinstance(columns, ModelColumns) else None), read.schema_.names
    trees, with_blanks = _trees(read), _trees(blanks)
    found = []
    for place, f in enumerate(range(len(names)) if own is None else own.order):
        name = names[f] if own is None else str(own.names[place] if own.names else place)
        listed = own.categories.get(place, ()) if own else ()
        splits = sum(int((tree.feature == f).sum()) for tree in trees) if trees else None
        known = bool(with_blanks) and bool(blanks.schema_[f].missing)
        missing = _missing(with_blanks, f, blanks.schema_[f].numeric) if known else ""
        found.append(Content(name, names[f], splits, tuple(map(plain, listed)), missing))
    return tuple(found)


def _trees(read: Any) -> list[Tree]:
    models = getattr(read, "models", (read,))
    return [tree for model in models for tree in getattr(model, "trees", ())]


def _missing(trees: list[Tree], f: int, numeric: bool) -> str:
    """Where the splits on a feature send blanks."""
    left, edge, zero = (
        np.concatenate([getattr(tree, part)[tree.feature == f] for tree in trees])
        for part in ("missing_left", "edge", "zero_left")
    )
    if not len(left):
        return ""
    if (zero >= 0).any():
        return f"a blank and 0 go left at {left.sum():,} of {len(left):,} splits"
    if numeric and np.array_equal(left, edge >= 0):
        return "a blank is read as 0"
    return f"a blank goes left at {left.sum():,} of {len(left):,} splits"
