"""Models that are sums of small terms: tables of points, and the trees of other libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trust_recourse.io import subprocesses
from trust_recourse.io.arrays import Floats
from trust_recourse.io.deferred import defer_seldom
from trust_recourse.io.files import FileError
from trust_recourse.io.frames import as_pandas
from trust_recourse.models.readers.columns import UnreadableError
from trust_recourse.models.readers.formats import Content, contents, opened
from trust_recourse.models.readers.referee import Library, reader_of
from trust_recourse.models.sums import store
from trust_recourse.models.sums.additive import Additive
from trust_recourse.models.sums.classes import ClassSums
from trust_recourse.models.sums.ensemble import SumModel, labels, listed
from trust_recourse.schema import Schema
from trust_recourse.schema.derived import check_rows

__all__ = ["Additive", "ClassSums", "SumModel", "UnreadableError", "from_model"]

Read = SumModel | Additive | ClassSums

MEMORY, PER_BYTE = 3 << 30, 64  # bytes that reading files may take, and for each of the largest
SECONDS, BYTES_A_SECOND = 120.0, 100_000  # that a file may take, and how much longer a large one
DRAWN = 256  # rows that a library is asked about when its model is read
MOST_DRAWN = 1e15  # of a value: whole ones beyond are not told apart
LEAST_DRAWN = 1e-30  # but 0: nobody has such a value, and LightGBM takes some for 0


def from_model(
    model: Any, schema: Schema, X: Any = None, *, classes: Sequence[Any] | None = None
) -> Read:
    """The same model as a sum of trees, or of points and slopes, with the library's numbers.

    It takes a `LGBMClassifier`, `XGBClassifier` or `Booster` of either library, a
    `CatBoostClassifier`, an `ExplainableBoostingClassifier` of interpret, and of scikit-learn a
    decision tree, forest, gradient or histogram gradient boosting, or a logistic regression, of two
    classes; or a pipeline that ends with one, which may be calibrated, and is read in people's own
    columns. The schema's columns are the model's, in any order. With rows `X`, as the library takes
    them, the library is asked again, and what differs in one bit is refused, of a regression, an
    EBM or a calibrator by more than rounding may bring. `classes` are other labels for the model's
    two, in the order of its own: LightGBM's and XGBoost's files know only 0 and 1.

    Or it takes the path of a file in the library's own safe format: LightGBM's text, XGBoost's JSON
    or UBJSON, CatBoost's or an EBM's JSON, or one of skops for scikit-learn and pipelines; or a
    scorecard in CSV, see docs/additive.md. `X` is then rows as any table has them, or an array in
    the schema's order. A pickle is never opened.

    The library sees people's own values: a missing code such as -9 as that number, a blank as NaN;
    of a category or ordinal the number it is, or its place among the model's pandas categories.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from trust_recourse.schema import Feature
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["no", "yes", "yes"])
    >>> read = from_model(model, Schema((Feature("years"),)))
    >>> read.predict_proba(np.array([[1.5], [1.6]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> read.grid.edges[0].tolist()  # it splits at 1.5, and in float32 this is no more
    [1.5000000596046448]
    """
    given, X = X, as_pandas(X)
    if isinstance(X, pd.DataFrame) and schema.derived:
        check_rows(schema, X[list(schema.names)])
    if isinstance(model, (str, os.PathLike)):
        named = X is None or isinstance(X, pd.DataFrame)
        read = imported(model, schema, X if named else pd.DataFrame(X, None, schema.names)).model
    else:
        read, library = reading(model, schema)
        if X is not None:
            library.refuse_single(given)
            _compare(read, reader_of(type(model)).predict_proba(model, X), X)
        _probe(read, library)
    return read if classes is None else renamed(read, classes)


def renamed(read: Read, classes: Sequence[Any]) -> Read:
    """The same model with other labels for its classes, in their order."""
    found, many = np.asarray(list(classes)), len(read.classes_)
    if len({*found.tolist()}) < many or len(found) != many:
        raise ValueError(f"classes={list(classes)}; expected {many} different labels")
    if not isinstance(read, Additive):
        return replace(read, classes_=found)
    other = copy(read)
    other.classes_ = found
    return other


def known(model: Any, schema: Schema) -> tuple[Read, Library]:
    """The same model as it is read, and the library's own to ask again.

    The library is asked about rows drawn from the schema, many of them at edges: a model that it
    sees otherwise is refused.
    """
    read, library = reading(model, schema)
    return read, library._replace(asked=_probe(read, library))


def _probe(read: Read, library: Library) -> Floats | None:
    """The rows that were asked about, if any."""
    if library.columns is None:
        return None
    codes = _drawn(read)
    try:
        theirs = library.predict_proba(codes)
    except Exception:  # a library that takes no blanks says so in words of its own
        codes = codes[~np.isnan(codes).any(axis=1)]
        if not len(codes):
            return None
        try:
            theirs = library.predict_proba(codes)
        except Exception as error:
            told = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise UnreadableError(f"its library refuses rows of the schema ({told})") from error
    apart = np.abs(read.proba_of(codes) - theirs) > read.apart(codes)[:, None]
    if len(rows := np.flatnonzero(apart.any(axis=1))):
        raise UnreadableError(
            f"it is not read as its library has it: of {len(codes)} rows drawn from the schema "
            f"{len(rows)} differ; please report this"
        )
    return codes


def _drawn(read: Read) -> Floats:
    """Rows of codes: values at edges and beside them, between, listed ones, and missing ones."""
    rng, columns = np.random.default_rng(0), []
    for feature, edges in zip(read.schema_, read.grid.edges, strict=True):
        if listed(feature):
            column = rng.integers(0, len(labels(feature)), DRAWN).astype(float)
        else:
            ends = [end for end in (feature.lower, feature.upper, 0.0) if end is not None]
            near = np.concatenate([edges, np.nextafter(edges, np.inf), ends])
            near = near[(np.abs(near) < MOST_DRAWN) & ((np.abs(near) > LEAST_DRAWN) | (near == 0))]
            column = rng.uniform(near.min(), near.max(), DRAWN)
            column = np.where(rng.random(DRAWN) < 0.7, rng.choice(near, DRAWN), column)
            if feature.kind == "integer":
                column = np.floor(column) + rng.integers(0, 2, DRAWN)
        gone = (rng.random(DRAWN) < 0.1) & bool(feature.missing)
        if not listed(feature):  # a number that means missing is none
            gone |= np.isin(column, [code for code in feature.missing if code is not None])
        columns.append(np.where(gone, np.nan, column))
    return np.column_stack(columns)


def reading(model: Any, schema: Schema) -> tuple[Read, Library]:
    """The same, without asking the library."""
    reader = reader_of(type(model))
    if reader is None:
        raise UnreadableError(
            f"given {type(model).__module__}.{type(model).__name__}; expected a tree, forest or "
            "boosted trees of scikit-learn, LightGBM, XGBoost or CatBoost, an EBM of interpret, a "
            "logistic regression, or a pipeline that ends with one"
        )
    if type(model).__name__ != "Booster" and not hasattr(model, "classes_"):
        raise UnreadableError(f"{type(model).__name__}: it has not learnt yet; call fit first")
    read, columns = reader.read(model, schema)
    return read, Library(model, columns)


def of_categories(model: Any, schema: Schema) -> Library | None:
    """A model that is not read but learnt on pandas categories, which it must be asked by, too."""
    columns_of = getattr(reader_of(type(model)), "columns_of", None)  # others take people's values
    with suppress(UnreadableError):
        columns = columns_of(model, schema) if columns_of else None
        return Library(model, columns) if columns and columns.categories else None
    return None


def readable(model: Any) -> bool:
    """Whether `from_model` knows this kind of model, whatever it may find in it."""
    return reader_of(type(model)) is not None


def _compare(read: Read, theirs: Any, X: Any) -> None:
    ours, most = read.predict_proba(X), read.apart(read.schema_.encode(X))
    apart = np.flatnonzero((np.abs(ours - theirs) > most[:, None]).any(axis=1))
    if len(apart):
        row = int(apart[0])
        label = X.index[row] if hasattr(X, "index") else row
        raise UnreadableError(
            f"row {label!r}: the library says {theirs[row].tolist()}, as read it is "
            f"{ours[row].tolist()}; {len(apart)} of {len(ours)} rows differ. Are the columns, "
            "values and missing codes of the schema those that the model was learnt on?"
        )


# ---------------------------------------------------------------- files


class Imported(NamedTuple):
    """A model out of a library's file."""

    format: str
    model: Read
    named: bool  # whether its columns have names, and not only an order
    compared: int = 0  # rows that its library was asked about again
    contents: tuple[Content, ...] = ()  # the columns that the file has


def imported(
    path: str | os.PathLike[str],
    schema: Schema,
    X: pd.DataFrame | None = None,
    *,
    listing: bool = False,
) -> Imported:
    """Read a library's file and compare, in a process of its own: libraries crash on damaged ones.

    `X` are rows as any table has them. With `listing` the file's columns are listed, too, for which
    it is read twice.
    """
    (found,) = several((path,), schema, X, listing=listing)
    return found


def several(
    paths: Iterable[str | os.PathLike[str]],
    schema: Schema,
    X: pd.DataFrame | None = None,
    *,
    listing: bool = False,
) -> Iterator[Imported]:
    """The same of several files, one after the other."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    sources = [Path(path) for path in paths]
    sizes = [each.stat().st_size if each.is_file() else 0 for each in sources]
    memory = MEMORY + PER_BYTE * max(sizes, default=0)
    other = ProcessPoolExecutor(1, initializer=_begin, initargs=(os.getpid(), memory))
    try:
        for source, size in zip(sources, sizes, strict=True):
            seconds = SECONDS + size / BYTES_A_SECOND
            try:
                asked = other.submit(read_file, source, schema, X, listing=listing)
                found: Imported = asked.result(seconds)
            except BrokenProcessPool:
                raise UnreadableError(
                    f"{source}: damaged: its library crashes on it, or needs more than "
                    f"{memory / 2**30:.0f} GiB"
                ) from None
            except TimeoutError:
                raise UnreadableError(
                    f"{source}: its library did not read it within {seconds:.0f} s. Expected a "
                    "file as the library writes it; save the model again"
                ) from None
            yield found
    finally:
        other.shutdown(kill_workers=True)


def _begin(parent: int, memory: int) -> None:
    """What a process that reads files begins with."""
    subprocesses.end_with(parent)
    subprocesses.limit_memory(memory)
    defer_seldom()


def _allowing_blanks(given: Any, schema: Schema) -> Read | None:
    """The same model as it is read if every number may be blank; None where it takes no blanks."""
    blank = (replace(each, missing=(None,)) if each.numeric else each for each in schema)
    try:
        return reading(given, Schema(tuple(blank)))[0]
    except ValueError:
        return None


def read_file(
    source: Path, schema: Schema, X: pd.DataFrame | None = None, *, listing: bool = False
) -> Imported:
    """The same in this process."""
    if X is not None:  # a table may have other columns, too
        X = X.drop(columns=[name for name in X.columns if name not in schema])
        schema.encode(X)
    try:
        form, given = opened(source)
        read, library = reading(given, schema)
        store.check(read)
        library.refuse_single(X)
        theirs = None if X is None or library.columns is None else library.told(X)
    except (FileError, ModuleNotFoundError):
        raise
    except MemoryError:
        raise UnreadableError(
            f"{source}: reading it needs more memory than a file of its size may take. Expected "
            "one as its library writes it; save the model again"
        ) from None
    except UnreadableError as error:
        raise UnreadableError(f"{source}: {error}") from None
    except Exception as error:  # the libraries have no common word for what they trip over
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise UnreadableError(f"{source}: damaged, or of no known version ({told})") from error
    if theirs is not None:
        _compare(read, theirs, X)
    named = library.columns is None or library.columns.names is not None
    found = contents(read, _allowing_blanks(given, schema), library.columns) if listing else ()
    return Imported(form.name, read, named, 0 if theirs is None else len(theirs), found)
