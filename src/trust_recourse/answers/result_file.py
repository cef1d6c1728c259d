"""The file of a result: its document and what it was asked by, read without believing any of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trust_recourse.answers.document import AnswerDocument
from trust_recourse.certificate import cost_parts
from trust_recourse.io import strict_json
from trust_recourse.io.scalars import is_number
from trust_recourse.question import Point, Question, Status
from trust_recourse.question.fewest import Fewest, n_changes

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse
    from trust_recourse.answers.result import Result

KIND, FORMAT = "trust-recourse result", 1
CLOSE = 1e-9  # between a number of a file and the same computed again
TEXTS = frozenset(("sentence", "words"))  # may be of another version, so they are not compared


@dataclass(frozen=True, kw_only=True)
class ResultFile(AnswerDocument):
    """The answers for one person and what they were asked by, as `Result.save` writes them."""

    kind: str = KIND
    format: int = FORMAT
    fingerprint: str | None
    schema: dict[str, Any]
    model_schema: dict[str, Any] | None
    """The schema that a library's model was read with, before the rules of a question."""
    cost: dict[str, Any]
    given_again: tuple[str, ...]
    """Parts of the cost that no file can hold."""
    question: dict[str, Any]
    nodes: tuple[int, ...]
    """Boxes that the search bounded, for each target."""

    @classmethod
    def of_result(cls, result: Result) -> ResultFile:
        """What to write of a result."""
        return cls.of(
            result, question=result.question.to_dict(),
            nodes=tuple(result.nodes.get(target, 0) for target in result.status),
            model_schema=_read_with(result.recourse), **rules(result.recourse),
        )  # fmt: skip

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def fields_of(self, recourse: Recourse) -> dict[str, Any]:
        """The fields of a `Result`, whose costs and confidences are computed again.

        Raises `TypeError` where the parts of the file contradict each other.
        """
        recourse.check_model()
        schema, line = recourse.schema, recourse.decision_threshold
        question, factual = Question.from_dict(self.question), schema.row(self.person)
        action_set = schema.action_set(factual)
        targets = question.targets(line)
        self._agree(question, recourse)
        place = {(target.confidence, target.mode): target for target in targets}
        each_target = [*zip(targets, self.targets, strict=True)]
        options = tuple(
            recourse.option(
                action_set, factual, place[each.target, each.mode],
                Point(schema.action_set(each.x).own, 0.0, 0.0), Status(each.status),
                each.lower_bound,
            )
            for each in self.options
        )  # fmt: skip
        fewest = {t: Fewest(e.fewest.most, e.fewest.least) for t, e in each_target if e.fewest}
        survival = {t: e.survival.survival for t, e in each_target if e.survival}
        for target, each in each_target:
            own = [option for option in options if option.target == target]
            found, status = bool(own), Status(each.status)
            many = [n_changes(action_set, option.codes) for option in own]
            sparse = question.sparse and status in (Status.OPTIMAL, Status.FEASIBLE)
            known = fewest.get(target)
            if (known is not None) != sparse or (
                known and (max(many) > known.most or (known.proved and min(many) < known.most))
            ):
                raise TypeError(f"fewest: given {each.fewest!r} of {target.words}")
            lasts = survival[target].lasts if target in survival else None
            if question.survives is not None and (lasts is not True if found else lasts):
                raise TypeError(f"survival: given {lasts!r} of {target.words}")
            if found == (status in (Status.INFEASIBLE, Status.NOT_FOUND)):
                has = "an option" if found else "no option"
                raise TypeError(f"it says {status} of {target.words}, but has {has} for it")
        return {
            "recourse": recourse, "factual": factual, "options": options, "question": question,
            "confidence": recourse.confidence_of(action_set.own),
            "status": {target: Status(each.status) for target, each in each_target},
            "nodes": dict(zip(targets, self.nodes, strict=True)), "survival": survival,
            "fewest": fewest, "engine": self.engine, "extra_constraints": self.extra_constraints,
        }  # fmt: skip

    def _agree(self, question: Question, recourse: Recourse) -> None:
        """Refuse a question that another part of the file contradicts."""
        line, cost = recourse.decision_threshold, question.cost or recourse.cost
        levels = [(t.confidence, t.mode, t.tolerance) for t in self.targets]
        lasting = {each.survival.asked for each in self.targets if each.survival}
        for part, agrees in {
            "confidence, mode or tolerance": levels == [
                (t.confidence, t.mode, t.tolerance if t.mode == "band" else None)
                for t in question.targets(line)
            ],
            "threshold": question.decision_threshold in (None, line),
            "lock or limits": question.narrowed(recourse.schema) == recourse.schema,
            "cost": cost.to_dict() == recourse.cost.to_dict(),
            "engine": question.engine in ("auto", self.engine),
            "extra constraints": question.extra_constraints(line) == self.extra_constraints,
            "survives": lasting <= {question.survives},
        }.items():  # fmt: skip
            if not agrees:
                raise TypeError(f"question: another {part} than the rest of the file says")
        if len(self.nodes) != len(self.targets) or min(self.nodes, default=0) < 0:
            raise TypeError(f"nodes: given {self.nodes}")
        for each in self.options:
            if each.lower_bound < 0.0:
                raise TypeError(f"lower_bound: given {each.lower_bound}")

    def refuse_other(self, again: ResultFile) -> None:
        """Refuse a file that says otherwise than the same answer computed again; not of texts."""
        ours = replace(again, model_schema=self.model_schema)
        if found := _difference(self.to_dict(), ours.to_dict(), ""):
            place, given, own = found
            raise ValueError(f"{place} is {given!r}, but the model and the cost make it {own!r}")


def _difference(given: Any, own: Any, place: str) -> tuple[str, Any, Any] | None:
    """The first place where two documents differ, and what they have there."""
    if isinstance(given, dict) and isinstance(own, dict) and given.keys() == own.keys():
        pairs = [(f"{place}.{name}", given[name], own[name]) for name in given if name not in TEXTS]
    elif isinstance(given, list) and isinstance(own, list) and len(given) == len(own):
        pairs = [(f"{place}.{at}", *each) for at, each in enumerate(zip(given, own, strict=True))]
    else:
        numbers = is_number(given) and is_number(own)
        close = abs(given - own) <= CLOSE if numbers else (type(given), given) == (type(own), own)
        return None if close else (place.lstrip("."), given, own)
    return next((found for p, a, b in pairs if (found := _difference(a, b, p))), None)


def read(path: str | os.PathLike[str]) -> ResultFile:
    """What a file says that `Result.save` wrote; nothing of it is believed yet."""
    try:
        told = strict_json.loads(Path(path).read_bytes())
        strict_json.refuse_unusable(told)
    except ValueError as error:
        raise ValueError(f"{path}: not a result, or cut short: {error}") from None
    if not isinstance(told, dict) or (told.get("kind"), told.get("format")) != (KIND, FORMAT):
        raise ValueError(
            f"{path}: not a result of format {FORMAT}; write one by `trust-recourse find --save`, "
            "or in Python by result.save(path)"
        )
    try:
        return ResultFile.from_dict(told)
    except TypeError as error:
        raise damaged(path, error) from None


def damaged(path: str | os.PathLike[str], error: Exception) -> ValueError:
    """The refusal of a file in which something is wrong."""
    return ValueError(f"{path}: damaged ({error!r}); save the result again")


def refuse_other_model(
    path: str | os.PathLike[str], told: ResultFile, model: Any, of_library: bool = False
) -> None:
    """Refuse answers that another model gave."""
    given, own = told.fingerprint, getattr(model, "fingerprint_", None)
    if given != own:
        same = (
            ". Was it read with another schema? Then give from_model(model, schema), with "
            "the schema that Recourse was given"
        )
        raise ValueError(
            f"{path}: these answers are from another model, with the fingerprint {given}; the one "
            f"given has {own}. Give the model that they were asked of, or ask this one anew"
            f"{same * of_library}"
        )


def rules(recourse: Recourse) -> dict[str, Any]:
    """What a question depends on, as a file has it, beside the person and the targets."""
    cost, unwritten = cost_parts(recourse.cost)
    return {
        "fingerprint": getattr(recourse.model, "fingerprint_", None),
        "schema": recourse.schema.to_dict(),
        "cost": cost,
        "given_again": tuple(unwritten),
    }


def _read_with(recourse: Recourse) -> dict[str, Any] | None:
    """The schema that a library's model was read with, where that is another one."""
    if recourse.library is None or not recourse.exact:
        return None
    own = recourse.model.schema_
    return None if own == recourse.schema else own.to_dict()
