"""The file of an answer: written as JSON, read with the model that gave it."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trust_recourse.answers.result import Result
from trust_recourse.certificate import cost_parts
from trust_recourse.io import strict_json
from trust_recourse.io.files import write_whole
from trust_recourse.io.scalars import plain
from trust_recourse.question import Point, Question, Status, Survival, Target
from trust_recourse.question.fewest import Fewest, n_changes

if TYPE_CHECKING:
    from trust_recourse.answers.recourse import Recourse

KIND, FORMAT = "trust-recourse result", 3
READ = (2, 3)  # format 2 had no question


def save(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the answers as JSON; the model is named by its fingerprint. All or nothing.

    `Recourse.read` reads them again with the model alone, `Result.load` with a recourse.
    """
    result.check_model()
    told = {
        "kind": KIND,
        "format": FORMAT,
        **_rules(result.recourse),
        **_read_with(result.recourse),
        "question": result.question.to_dict(),
        "engine": result.engine,
        "extra_constraints": result.extra_constraints,
        "factual": [plain(value) for value in result.factual],
        "confidence": result.confidence,
        "targets": [
            {**target.to_dict(), "status": str(status), "nodes": result.nodes.get(target, 0)}
            | ({"survival": result.survival[target].to_dict()} if target in result.survival else {})
            | ({"fewest": result.fewest[target].to_dict()} if target in result.fewest else {})
            for target, status in result.status.items()
        ],
        "options": [
            {
                "target": list(result.status).index(option.target),
                "x": [plain(value) for value in option.x],
                "cost": option.cost,
                "confidence": option.confidence,
                "status": str(option.status),
                "lower_bound": option.lower_bound,
            }
            for option in result.options
        ],
    }
    write_whole(path, json.dumps(told, ensure_ascii=False, indent=1))


def load(path: str | os.PathLike[str], recourse: Recourse) -> Result:
    """Read what `save` wrote, for the same model and schema.

    Costs and confidences are computed again; a file that says otherwise is refused.
    """
    told = read(path)
    of_model(path, told, recourse.model, recourse.library is not None)
    for name, value in _rules(recourse).items():
        if told.get(name) != value:
            raise ValueError(f"{path}: the {name} is not that of the recourse it is read with")
    try:
        return _result(path, told, recourse)
    except (KeyError, IndexError, TypeError, OverflowError) as error:
        raise ValueError(f"{path}: damaged ({error!r}); save the result again") from None


def _result(path: str | os.PathLike[str], told: dict[str, Any], recourse: Recourse) -> Result:
    schema = recourse.schema
    factual = schema.row(dict(zip(schema.names, told["factual"], strict=True)))
    action_set = schema.action_set(factual)
    line = recourse.decision_threshold
    targets = [Target(t["confidence"], t["mode"], t["tolerance"], line) for t in told["targets"]]
    options = []
    for each in told["options"]:
        codes = schema.action_set(dict(zip(schema.names, each["x"], strict=True))).own
        option = recourse.option(
            action_set, factual, targets[_held(each, "target", int)], Point(codes, 0.0, 0.0),
            Status(each["status"]), _held(each, "lower_bound", float, int),
        )  # fmt: skip
        for name in ("cost", "confidence"):
            if not abs(getattr(option, name) - _held(each, name, float, int)) <= 1e-9:
                raise ValueError(
                    f"{path}: an option's {name} is {each[name]}, but the model and the cost "
                    f"make it {getattr(option, name)}"
                )
        options.append(option)
    each_target = [*zip(targets, told["targets"], strict=True)]
    known = {t: Status(each["status"]) for t, each in each_target}
    survival = {
        t: Survival.from_dict(each["survival"]) for t, each in each_target if "survival" in each
    }
    fewest = {t: Fewest.from_dict(each["fewest"]) for t, each in each_target if "fewest" in each}
    question = _asked(told, targets, recourse)
    for target, status in known.items():
        own = [option for option in options if option.target == target]
        found, sparse = bool(own), question.sparse and status in (
            Status.OPTIMAL, Status.FEASIBLE
        )  # fmt: skip
        many = [n_changes(action_set, option.codes) for option in own]
        if (target in fewest) != sparse or (sparse and max(many) > fewest[target].most):
            raise TypeError(f"fewest: given {fewest.get(target)!r} of {target.words}")
        lasts = survival[target].lasts if target in survival else None
        if question.survives is not None and (lasts is not True if found else lasts):
            raise TypeError(f"survival: given {lasts!r} of {target.words}")
        if found == (status in (Status.INFEASIBLE, Status.NOT_FOUND)):
            has = "an option" if found else "no option"
            raise ValueError(f"{path}: it says {status} of {target.words}, but has {has} for it")
    return Result(
        recourse, factual, recourse.confidence_of(action_set.own), tuple(options), known,
        nodes={
            target: _held(each, "nodes", int)
            for target, each in zip(targets, told["targets"], strict=True)
        },
        survival=survival, fewest=fewest, engine=_held(told, "engine", str), question=question,
        extra_constraints=_held(
            told, "asked_more" if told["format"] == 2 else "extra_constraints", str
        ),
    )  # fmt: skip


def _asked(told: dict[str, Any], targets: list[Target], recourse: Recourse) -> Question:
    """The question of a file, once all else there agrees with it; of an old one, what it says."""
    if told["format"] == 2:
        levels = tuple(target.confidence for target in targets)
        return Question(confidence=levels, mode=targets[0].mode, tolerance=targets[0].tolerance)
    asked = Question.from_dict(told["question"])
    lasting = {each["survival"]["asked"] for each in told["targets"] if "survival" in each}
    line, cost = recourse.decision_threshold, asked.cost or recourse.cost
    for part, agrees in {
        "confidence, mode or tolerance": asked.targets(line) == tuple(targets),
        "threshold": asked.decision_threshold in (None, line),
        "lock or limits": asked.narrowed(recourse.schema) == recourse.schema,
        "cost": cost.to_dict() == recourse.cost.to_dict(),
        "engine": asked.engine in ("auto", told["engine"]),
        "extra constraints": asked.extra_constraints(line) == told["extra_constraints"],
        "survives": lasting <= {asked.survives},
    }.items():
        if not agrees:
            raise TypeError(f"question: another {part} than the rest of the file says")
    return asked


def _held(told: dict[str, Any], name: str, *kinds: type) -> Any:
    """An entry of a file, once it is of such a kind, and if a number, finite and from 0 up."""
    value = told[name]
    if type(value) not in kinds or not (kinds == (str,) or 0 <= value < math.inf):
        raise TypeError(f"{name}: given {value!r}")
    return value


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says that `Result.save` wrote; nothing of it is believed yet."""
    try:
        told = strict_json.loads(Path(path).read_bytes())
        strict_json.refuse_unusable(told)
    except ValueError as error:
        raise ValueError(f"{path}: not a result, or cut short: {error}") from None
    if not isinstance(told, dict) or told.get("kind") != KIND or told.get("format") not in READ:
        raise ValueError(
            f"{path}: not a result of format {FORMAT}; write one by `trust-recourse find --save`, "
            "or in Python by result.save(path)"
        )
    return told


def of_model(
    path: str | os.PathLike[str], told: dict[str, Any], model: Any, of_library: bool = False
) -> None:
    """Refuse answers that another model gave."""
    given, own = told.get("fingerprint"), getattr(model, "fingerprint_", None)
    if given != own:
        same = (
            ". Or is it the same, read with another schema? Then give adopt(model, schema), with "
            "the schema that Recourse was given"
        )
        raise ValueError(
            f"{path}: these answers are from another model, with the fingerprint {given}; the one "
            f"given has {own}. Give the model that they were asked of, or ask this one anew"
            f"{same * of_library}"
        )


def _read_with(recourse: Recourse) -> dict[str, Any]:
    """The schema that a library's model was read with, before the rules and steps of a question."""
    if recourse.library is None or not recourse.exact:
        return {}
    own = recourse.model.schema_
    return {} if own == recourse.schema else {"model_schema": own.to_dict()}


def _rules(recourse: Recourse) -> dict[str, Any]:
    """What a question depends on beside the person and the targets."""
    cost, unwritten = cost_parts(recourse.cost)
    return {
        "fingerprint": getattr(recourse.model, "fingerprint_", None),
        "schema": recourse.schema.to_dict(),
        "cost": cost,
        "given_again": unwritten,
        "wanted": recourse.wanted_at,
        "decision_threshold": recourse.decision_threshold,
    }
