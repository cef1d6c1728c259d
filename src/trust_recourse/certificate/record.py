"""What a search leaves behind for a stranger to check: the values, and their file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from reprlib import repr as short  # of a stranger's values, which may be of any size
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trust_recourse.certificate.fingerprints import Question, asked, cost_parts, fingerprint
from trust_recourse.io import cancel, strict_json
from trust_recourse.io.files import write_whole
from trust_recourse.io.scalars import Floats, Ints
from trust_recourse.question import Point, Problem, Status, Target
from trust_recourse.question.cost import Cost
from trust_recourse.schema import Schema, SchemaError

FORMAT = 1
KIND = "trust-recourse certificate"
MOST_BYTES = 1 << 30
MOST_FEATURES = 10_000  # and as many relations
MOST_CLASSES = 10_000
MOST_EXPONENT = 900  # of a unit, a power of 2

REASONS = ("cost", "confidence", "priced", "relation", "point")
CERTIFIED = (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.ALREADY_MET)


class CertificateError(ValueError):
    """A certificate that cannot be read, or that does not prove what it says, with the reason."""


class Function(NamedTuple):
    """Numbers that a bound is made with, in an order that the reader knows: numbers · 2^unit."""

    unit: int
    numbers: Ints


class ProofStep(NamedTuple):
    """A price and a function by which values are left out that no cheaper answer has."""

    price: float
    function: Function


@dataclass(frozen=True, eq=False)
class Proof:
    """The tree of a search: what the candidates were, and why each part was discarded.

    `candidates[f]` are codes of feature f. A box is a range of candidates for each feature; the
    root is all of them. The nodes are in preorder. At an inner node `feature[k]` ≥ 0 is cut:
    candidates up to `cut[k]` go to the left part, which comes next, the rest to the right. At a
    leaf `feature[k]` is −1 − the position of its reason in `REASONS`, and for a priced leaf
    `price[k]` is λ, in cost (before the root) per unit of the reader's score (of a machine its
    uncalibrated confidence), or infinite. What means nothing is 0.

    A proof of a sum of terms begins with `steps`, after which the candidates need only serve what
    is left, and has `functions`: which of them a priced leaf is judged by is its `cut[k]`.

    A proof about one of several classes has `shares`, one for each class: those of the others at
    the tangent that prices and functions are about.
    """

    candidates: tuple[Floats, ...]
    feature: Ints
    cut: Ints
    price: Floats
    steps: tuple[ProofStep, ...] = ()
    functions: tuple[Function, ...] = ()
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        codes = tuple(_frozen(codes, np.float64) for codes in self.candidates)
        object.__setattr__(self, "candidates", codes)
        for name, kind in (("feature", np.int64), ("cut", np.int64), ("price", np.float64)):
            object.__setattr__(self, name, _frozen(getattr(self, name), kind))
        if not len(self.feature) == len(self.cut) == len(self.price):
            given = f"{len(self.feature)}, {len(self.cut)} and {len(self.price)}"
            raise CertificateError(f"feature, cut and price: given {given} nodes, expected as many")


def _frozen(values: Any, kind: Any) -> NDArray[Any]:
    array = np.array(values, dtype=kind)
    if array.ndim != 1:
        raise CertificateError(f"given an array of shape {array.shape}, expected one dimension")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Certificate:
    """A question, its answer, and the proof: all that a stranger needs to check it on the model.

    `lower_bound` is what no allowed change that meets the target can cost less than, in the units
    of the answer's cost; infinite where none exists. `nodes` is the search's own count of boxes,
    which nothing depends on. A cost's functions cannot be written to a file: `given_again` names
    the parts of the cost that the verifier has to give.

    Where the fewest changes were asked for, `fewer` proves that fewer than those of the answer are
    not enough, and `proof` that no other answer of so few costs less.
    """

    fingerprint: str
    problem: Problem
    status: Status
    answer: Point | None
    lower_bound: float
    nodes: int
    proof: Proof
    given_again: tuple[str, ...] = ()
    fewer: Proof | None = None

    @cached_property
    def asked(self) -> Question:
        """Its question in plain values, of which `question` is the fingerprint."""
        return asked(self.problem, self.fingerprint, self.given_again, self.fewer is not None)

    @property
    def question(self) -> str:
        """The fingerprint of its question; whoever asks the same one has the same."""
        return fingerprint(self.asked)

    def to_dict(self) -> dict[str, Any]:
        """Write the certificate in lists, texts and numbers that JSON can hold."""
        problem, answer, fewer = self.problem, self.answer, self.fewer
        told, untold = cost_parts(problem.cost)
        return {
            "kind": KIND,
            "format": FORMAT,
            "question": self.question,
            "fingerprint": self.fingerprint,
            "schema": problem.action_set.schema.to_dict(),
            "cost": told,
            "given_again": sorted({*self.given_again, *untold}),
            "factual": _told(problem.action_set.own),
            "wanted": int(problem.wanted),
            "target": problem.target.to_dict(),
            "status": str(self.status),
            "answer": answer
            and {
                "codes": _told(answer.codes),
                "cost": float(answer.cost),
                "confidence": float(answer.confidence),
            },
            "lower_bound": _told([self.lower_bound])[0],
            "nodes": int(self.nodes),
            **_written(self.proof, whole=fewer is not None),
            **({} if fewer is None else {"fewer": _written(fewer, whole=True)}),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Certificate:
        """Read what `to_dict` wrote; an error names the entry."""
        if not isinstance(given, Mapping) or given.get("kind") != KIND:
            raise CertificateError(
                f"not a {KIND}; expected a file written by Certificate.save(path)"
            )
        try:
            strict_json.refuse_unusable(given)
            return _read(given)
        except (ValueError, OverflowError) as error:  # of what it holds
            raise CertificateError(str(error)) from None

    def to_json(self) -> str:
        """The text of the file that `save` writes."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write a JSON file, whole or not at all."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file written by `save`; it says nothing of whether the proof holds: `check` it."""
        source = Path(path)
        if not source.is_file():
            raise CertificateError(f"{source}: there is no such file")
        if (size := source.stat().st_size) > MOST_BYTES:
            raise CertificateError(f"{source}: {size:,} bytes, expected at most {MOST_BYTES:,}")
        try:
            return cls.from_dict(strict_json.loads(source.read_bytes()))
        except CertificateError as error:
            raise CertificateError(f"{source}: {error}") from None
        except ValueError as error:
            raise CertificateError(f"{source}: damaged or cut short ({error})") from None


# ---------------------------------------------------------------- the file


def _told(numbers: Any) -> list[float | str]:
    """Numbers for JSON, which has no infinities and no NaN: those are written as texts."""
    return [n if math.isfinite(n) else str(n) for n in np.asarray(numbers, np.float64).tolist()]


def _written(proof: Proof, whole: bool) -> dict[str, Any]:
    """A proof without the parts that it does not have, unless all of it is to be written."""

    def function(of: Function) -> dict[str, Any]:
        return {"unit": int(of.unit), "numbers": of.numbers.tolist()}

    told: dict[str, Any] = {
        "candidates": [_told(codes) for codes in proof.candidates],
        "feature": proof.feature.tolist(),
        "cut": proof.cut.tolist(),
        "price": _told(proof.price),
    }
    if whole or proof.steps or proof.functions or proof.shares:
        told["steps"] = [{"price": float(price), **function(of)} for price, of in proof.steps]
        told["functions"] = [*map(function, proof.functions)]
    if whole or proof.shares:
        told["shares"] = _told(proof.shares)
    return told


_OF_SUMS = {"steps", "functions"}  # entries that a proof of sums has more
_OF_CLASSES = _OF_SUMS | {"shares"}  # and one about several classes
_PROOF = {"candidates", "feature", "cut", "price"} | _OF_CLASSES
_ENTRIES = {
    "kind", "format", "question", "fingerprint", "schema", "cost", "given_again", "factual",
    "wanted", "target", "status", "answer", "lower_bound", "nodes", "candidates", "feature", "cut",
    "price",
}  # fmt: skip
_SHA256 = re.compile("[0-9a-f]{64}")


def _read(given: Mapping[str, Any]) -> Certificate:
    number = given.get("format")
    if type(number) is not int or number != FORMAT:
        raise CertificateError(
            f"format {short(number)}; this version reads format {FORMAT}. "
            "Update trust-recourse, or make the certificate with this version"
        )
    several = _OF_CLASSES if given.keys() & {"shares", "fewer"} else set()
    more = _OF_SUMS if given.keys() & _OF_SUMS else set()
    _expect_entries(given, _ENTRIES | several | more | (given.keys() & {"fewer"}))
    fewer = None
    if "fewer" in given:
        if not isinstance(given["fewer"], Mapping):
            raise CertificateError("fewer: expected a proof")
        _expect_entries(given["fewer"], _PROOF)
        fewer = _read_proof(given["fewer"])
    status, answer, names = given["status"], given["answer"], given["given_again"]
    _sound("status", status, status in [*map(str, CERTIFIED)], ", ".join(CERTIFIED))
    _sound("given_again", names, names in ([], ["functions"]), "[] or ['functions']")
    if answer is not None:
        of_answer = {"codes": _numbers, "cost": _number, "confidence": _number}
        answer = Point(**_read_parts("answer", answer, **of_answer))
    certificate = Certificate(
        fingerprint=_sha256("fingerprint", given["fingerprint"]),
        problem=_read_problem(given),
        status=Status(status),
        answer=answer,
        lower_bound=float(_numbers("lower_bound", [given["lower_bound"]])[0]),
        nodes=int(_whole("nodes", [given["nodes"]])[0]),
        proof=_read_proof(given),
        given_again=tuple(names),
        fewer=fewer,
    )
    if _sha256("question", given["question"]) != certificate.question:
        raise CertificateError("question: it is not the fingerprint of the question that is there")
    return certificate


def _expect_entries(given: Mapping[str, Any], entries: set[str]) -> None:
    if differing := sorted(map(str, set(given) ^ entries)):
        word = "unknown" if differing[0] in map(str, given) else "absent"
        raise CertificateError(f"entry {short(differing[0])}: {word}")


def _read_proof(given: Mapping[str, Any]) -> Proof:
    if not isinstance(given["candidates"], list):
        raise CertificateError("candidates: expected a list of numbers for each feature")
    return Proof(
        tuple(_numbers("candidates", codes) for codes in given["candidates"]),
        _whole("feature", given["feature"]),
        _whole("cut", given["cut"]),
        _numbers("price", given["price"]),
        tuple(
            ProofStep(of.pop("price"), Function(**of))
            for of in _read_list("step", given.get("steps", []), price=_number, **_FUNCTION)
        ),
        tuple(
            Function(**of) for of in _read_list("function", given.get("functions", []), **_FUNCTION)
        ),
        tuple(_numbers("shares", given.get("shares", [])).tolist()),
    )


def _read_problem(given: Mapping[str, Any]) -> Problem:
    wanted = given["wanted"]
    sound = type(wanted) is int and 0 <= wanted < MOST_CLASSES
    _sound("wanted", wanted, sound, "the place of a class")
    cost = _read_parts("cost", given["cost"], l0=_number, l1=_number, l2=_number, root=_boolean)
    parts = {"confidence": _number, "mode": _text, "tolerance": _number}
    if isinstance(given["target"], Mapping) and "threshold" in given["target"]:
        parts["threshold"] = _number  # of the decision, where it is not one half
    target = _read_parts("target", given["target"], **parts)
    for entry in ("features", "relations"):
        many = given["schema"].get(entry) if isinstance(given["schema"], Mapping) else None
        if isinstance(many, list) and len(many) > MOST_FEATURES:
            raise CertificateError(
                f"schema: given {len(many):,} {entry}, expected at most {MOST_FEATURES:,}"
            )
    schema = Schema.from_dict(given["schema"])
    codes = _numbers("factual", given["factual"])
    try:
        action_set = schema.action_set_of(codes)
    except SchemaError as error:
        raise CertificateError(f"factual: {error}") from None
    return Problem(action_set, Target(**target), Cost(**cost), wanted)


def _read_list(entry: str, given: Any, **parts: Callable[[str, Any], Any]) -> Iterator[Any]:
    """The objects of a list, each of just these parts."""
    if not isinstance(given, list):
        raise CertificateError(f"{entry}s: expected a list")
    return (_read_parts(f"{entry} {k}", each, **parts) for k, each in enumerate(given))


def _read_parts(entry: str, given: Any, **parts: Callable[[str, Any], Any]) -> dict[str, Any]:
    """An object of just these parts, each read by its own function."""
    if not isinstance(given, Mapping) or set(given) != set(parts):
        raise CertificateError(f"{entry}: given {short(given)}, expected {', '.join(parts)}")
    return {name: read(f"{entry}, {name}", given[name]) for name, read in parts.items()}


def _sound(entry: str, given: Any, sound: bool, expected: str) -> Any:
    """What is given, if it is sound."""
    if not sound:
        raise CertificateError(f"{entry}: given {short(given)}, expected {expected}")
    return given


def _text(entry: str, given: Any) -> Any:
    return _sound(entry, given, isinstance(given, str), "text")


def _sha256(entry: str, given: Any) -> Any:
    sound = bool(_SHA256.fullmatch(_text(entry, given)))
    return _sound(entry, given, sound, "a SHA-256 in hexadecimal")


def _boolean(entry: str, given: Any) -> Any:
    return _sound(entry, given, isinstance(given, bool), "true or false")


def _exponent(entry: str, given: Any) -> Any:
    sound = type(given) is int and abs(given) <= MOST_EXPONENT
    return _sound(entry, given, sound, "a power of 2")


def _number(entry: str, given: Any) -> float:
    return float(_numbers(entry, [given])[0])


def _numbers(entry: str, given: Any) -> Floats:
    cancel.check()
    if isinstance(given, list):
        texts = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        numbers = [texts.get(n, n) if isinstance(n, str) else n for n in given]
        if all(type(n) in (int, float) for n in numbers):
            return np.array(numbers, dtype=np.float64)
    raise CertificateError(f"{entry}: expected a list of numbers, 'inf', '-inf' or 'nan'")


def _whole(entry: str, given: Any) -> Ints:
    cancel.check()
    if isinstance(given, list) and all(type(n) is int and abs(n) < 2**62 for n in given):
        return np.array(given, dtype=np.int64)
    raise CertificateError(f"{entry}: expected a list of whole numbers")


_FUNCTION = {"unit": _exponent, "numbers": _whole}
