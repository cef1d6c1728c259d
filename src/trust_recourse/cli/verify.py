"""`trust-recourse verify`: check a proof without believing any of it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import argument, command, flag, option
from trust_recourse.cli.exit_codes import InputError
from trust_recourse.io.wording import in_few_digits, punctuated, significant, written
from trust_recourse.question.vocabulary import Mode

if TYPE_CHECKING:
    from trust_recourse import Certificate, Feature
    from trust_recourse.certificate import Verdict
    from trust_recourse.models.loading import Model
    from trust_recourse.question import Problem, Target

PARTS = {  # of a question, and how to give each
    "x": ("the person", "--data with --row or --set"),
    "schema": ("the schema", "--schema, --lock or --limit"),
    "confidence": ("the confidence", "--confidence"),
    "threshold": ("the decision threshold", "--threshold"),
    "cost": ("the cost", "--cost"),
    "wanted": ("the wanted class", "--wanted"),
}
# what the model itself reads of a feature, and what it is called: no rules of the question
READ = ("name", "kind", "values", "missing", "unit", "label", "labels")


@command()
def verify(
    certificate: Annotated[Path, argument("Written by `find --certificate`.", "CERTIFICATE.json")],
    person: question.PersonOptions,
    rules: question.RuleOptions,
    confidence: Annotated[
        float | None, option("What the confidence asked for must be.", "C")
    ] = None,
    mode: Annotated[Mode | None, option("What was asked of it. [default: at_least]")] = None,
    tolerance: Annotated[float | None, option("Of a band. [default: 0.1]")] = None,
    verbose: Annotated[
        bool, flag("--verbose", "Also print all values and rules of the question.")
    ] = False,
) -> None:
    r"""Check the proof of an answer on the model it is about, without believing any of it.

    A certificate holds a question (a person, what they may change, the confidence asked for, the
    cost), the answer, and why everything cheaper fails. `find --certificate` writes it, as does

        result.certificate(0.85).save("proof.json")

    in Python. The checker shares no code with the search: it computes the model's confidences anew
    from their definition, and confirms that the proof leaves nothing out.

    A proof of another question than yours is a valid proof. Give what you asked, as you gave it to
    `find`: if the certificate says otherwise in anything, it is refused with what differs. A person
    is taken to be asked about by the model's own schema, unless you give one. What you do not give
    is the certificate's own word: it is shown, and said to be that. The fingerprint of the question
    is the same for all who ask it.

    It ends with 0 if the proof holds, with 1 and the reason if it does not, and with 2 if a file
    is not there or not what it should be.

    For example, alone, and beside what was asked:

        trust-recourse verify proof.json model.safetensors

        trust-recourse verify proof.json model.safetensors --data patients.csv --row 9 \
            --lock age --confidence 0.7 --cost l2
    """
    from trust_recourse import Certificate, load
    from trust_recourse.certificate import CertificateError, check

    try:
        proof, machine = Certificate.load(certificate), load(person.model)
    except (ValueError, OSError) as error:
        if certificate.suffix == ".safetensors" or person.model.suffix == ".json":
            hint = "Give the certificate first, then the model."
            raise InputError(f"{error}\n{hint}") from None
        raise
    if proof.given_again:
        raise InputError(
            f"{certificate}: its cost has functions of its own, which no file holds. Check it in "
            "Python: trust_recourse.verify(certificate, model, cost=cost)"
        )
    given = _given(person, rules, machine)
    threshold = rules.given["decision_threshold"]
    target, told = _target(proof.problem.target, machine, confidence, mode, tolerance, threshold)
    try:
        verdict = check(proof, machine, target=target, **given)
    except CertificateError as error:
        output.say(f"Refused: {error}.")
        raise typer.Exit(1) from None
    console = output.console()
    console.print(f"The proof holds. {verdict.sentence}")
    console.print(said(proof, verdict, machine, verbose=verbose))
    console.print(output.words(f"\n{_word({*given, *told})}"))


def _target(
    theirs: Target,
    machine: Model,
    confidence: float | None,
    mode: Mode | None,
    tolerance: float | None,
    threshold: float | None,
) -> tuple[Target, set[str]]:
    """The target as far as it is given on the line, and the parts that are not its own word.

    A confidence without a threshold goes with that of the model.
    """
    from trust_recourse.models.readers.read_model import own_threshold
    from trust_recourse.question import Target

    if mode == "argmax":
        if confidence is not None:
            raise InputError(f"--mode argmax --confidence {confidence}: it asks for none")
        return Target(0.5, "argmax"), {"confidence", "threshold"}
    if confidence is None:
        for name, given in (("mode", mode), ("tolerance", tolerance)):
            if given is not None:
                raise InputError(f"--{name} {given}: of which confidence? give --confidence too")
        told = set() if threshold is None else {"threshold"}
        return replace(theirs, threshold=threshold or theirs.threshold), told
    band, line = 0.1 if tolerance is None else tolerance, threshold or own_threshold(machine)
    return Target(confidence, mode or "at_least", band, line), {"confidence", "threshold"}


def _given(
    person: question.PersonOptions, rules: question.RuleOptions, machine: Model
) -> dict[str, Any]:
    """What the question must be but for its target, as far as it is given on the line."""
    from trust_recourse.schema import Schema

    given: dict[str, Any] = {}
    schema = machine.schema_ if person.schema is None else Schema.from_yaml(person.schema)
    asked = rules.question(schema)
    if person.given or person.schema is not None or asked.lock or asked.limits:
        given["schema"] = asked.narrowed(schema)
    if person.given:
        given["x"] = person.values_by(schema, {})
    if asked.cost is not None:
        given["cost"] = asked.cost
    if person.wanted is not None:
        given["wanted"] = question.label_of(person.wanted, machine.classes_.tolist())
    return given


def _word(given: Set[str]) -> str:
    """Whose word the question is."""
    believed = [PARTS[part] for part in PARTS if part not in given]
    if not believed:
        return "The question is the one you gave."
    names, ways = (", ".join(each) for each in zip(*believed, strict=True))
    own = "the certificate's own word"
    head = f"Of the question this is {own}: {names}" if given else f"The question is {own}"
    return f"{head}. Compare it with what you asked, or give yours to be compared: {ways}."


def said(
    certificate: Certificate, verdict: Verdict, model: Model, *, verbose: bool = True
) -> Table:
    """The question and the answer of a certificate that was checked, in the verifier's names."""
    problem = verdict.problem
    features = problem.action_set.schema.features
    rules = list(_rules(features))
    parts = sum(verdict.leaves.values())
    boxes = f"{parts:,} box{'es' if parts > 1 else ''} ruled out: {verdict.ruled_out}"
    line = f"a decision for it takes {written(problem.target.threshold)}"
    decision = "" if problem.target.mode == "argmax" else line
    free = sum(actions.free for actions in problem.action_set.actions)
    person = f"{len(features)} values, of which {free} may change; --verbose prints them"
    stated = f"of {len(rules)} features; --verbose prints them" if rules else "none"
    rows = (
        ("question", verdict.question),
        ("model", certificate.fingerprint),
        ("person", repr(problem.action_set) if verbose else person),
        ("rules", "\n".join(rules) or "none" if verbose else stated),
        ("asked for", _asked_for(problem, model)),
        ("threshold", decision),
        ("cost", problem.cost.words),
        ("fewest", "the fewest changed features, then the least cost" * verdict.sparse),
        ("answer", _answer(certificate, problem)),
        ("checked", boxes if parts else "the answer; nothing is cheaper than no change"),
    )
    return output.grid((name, text) for name, text in rows if text)


def _answer(certificate: Certificate, problem: Problem) -> str:
    """The answer of a certificate: what changes, one a line, and its numbers."""
    from trust_recourse.io.scalars import same
    from trust_recourse.question import formatted

    answer = certificate.answer
    if answer is None:
        return "none"
    own, features = problem.action_set.own.tolist(), problem.action_set.schema.features
    changes = [
        f"{feature.title} {feature.describe_code(a)} → {feature.describe_code(b)}"
        for feature, a, b in zip(features, own, answer.codes.tolist(), strict=True)
        if not same(a, b)
    ]
    shown = formatted(answer.confidence, problem.target.threshold, problem.target)
    numbers = f"(cost {significant(answer.cost)}, confidence {shown})"
    return "\n".join([*changes, numbers]) if changes else f"no change {numbers}"


def _rules(features: tuple[Feature, ...]) -> Iterator[str]:
    """What the question says of each feature that is not the default, as a schema's file would."""
    from trust_recourse.schema.yaml_text import feature_to_dict

    for feature in features:
        fields = feature_to_dict(feature).items()
        rules = [f"{name} {_yaml(value)}" for name, value in fields if name not in READ]
        if rules:
            yield f"{feature.title}: {', '.join(rules)}"


def _yaml(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return punctuated(written(in_few_digits(float(value))))


def _asked_for(problem: Problem, model: Model) -> str:
    """The target, to the last digit."""
    target, label = problem.target, model.classes_[problem.wanted]
    if target.mode == "argmax":
        return f"more confidence in the class {label} than in any other"
    within = f"{written(target.confidence)} ± {written(target.tolerance)}"
    asked = within if target.mode == "band" else f"at least {written(target.confidence)}"
    return f"a confidence of {asked} in the class {label}"
