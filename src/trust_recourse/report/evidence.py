"""The evidence report: all that a model-risk officer needs to judge one answer, on paper.

Model, calibration, schema, rules or terms, the question, the options and what each is worth,
certificates, attribution, fragility, a comparison, and what of all this is proved and what is not.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trust_recourse.answers import text
from trust_recourse.answers.explain import explainable
from trust_recourse.answers.measurements import beyond, beyond_words, highest
from trust_recourse.certificate import Certificate, CertificateError, check
from trust_recourse.io.wording import distance, floored, in_few_digits, is_bound
from trust_recourse.question import Option, Radius, Status, Target, option_name
from trust_recourse.question.vocabulary import HELP, SPAN, outside
from trust_recourse.report.content import Document, PictureBlock, Printed, blocks, clean, drawn
from trust_recourse.report.display_names import titled
from trust_recourse.report.letter.reasons import Method, Reason, Shortfall, method_of, principal
from trust_recourse.report.letter.reasons import reasons as found_by
from trust_recourse.report.protected import uses

if TYPE_CHECKING:
    from trust_recourse.answers.explain import Explanation, Mover
    from trust_recourse.answers.result import Result
    from trust_recourse.report.model.model_report import ModelReport
    from trust_recourse.schema import Feature

SHOWN = 10  # rules or terms of an attribution, and tightenings, that are told one by one
BINS = 300  # rows of a table of what a model is made of; longer ones are cut
REFUSED = "REFUSED"  # how the verdict on a proof that fails begins
STILL = 5e-4  # a share that is shown as 0.000


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Printed):
    """What `evidence` wrote: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending.

    `certificates` maps each target that has one to its certificate, `verdicts` what a check said.
    `late` lists the targets whose proof the limit ended.
    """

    certificates: dict[Target, Certificate]
    verdicts: dict[Target, str]
    late: Sequence[Target] = ()


def evidence(
    result: Result,
    *,
    organisation: str = "",
    report: ModelReport | None = None,
    certificates: bool = True,
    verify: bool = False,
    pictures: bool = True,
    sigma: float = 0.01,
    time_limit: float | None = 10.0,
    proof_limit: float | None = None,
    dated: datetime.date | None = None,
    reference: Any = None,
    reasons: Method | None = None,
) -> Evidence:
    """Set down all that is known of an answer, for whoever answers for the model.

    Parameters
    ----------
    result : the answers for one person.
    organisation : whose evidence report it is.
    report : what `model_report` said of the model, on data held out of learning.
    certificates, verify : make the proof of each answer, which may take as long as the answer did;
        and check it, by code that shares nothing with the search.
    pictures : draw the frontier and the waterfall, where the extra `plot` is installed.
    sigma : of the noise that the options are tried with, in scaled units.
    time_limit : seconds for the frontier; None for no limit.
    proof_limit : seconds for each proof; None for no limit. Where it is not enough, the report has
        no proof and says so.
    dated : the day of the evidence report; today if None.
    reference, reasons : other applicants, and how the reasons of a refusal are found, as `letter`
        has them: give the same to both, and they name the same.

    """
    result.check_model()
    if proof_limit is not None and not proof_limit > 0:
        raise ValueError(f"proof_limit={proof_limit!r}; expected seconds above 0, or None")
    proofs = _proofs(result, certificates, verify, proof_limit)
    result = titled(result, clean)
    method = method_of(reasons, reference)
    told = _EvidenceFacts.gathered(result, sigma, time_limit, method, reference)
    recourse = result.recourse
    said = blocks(
        "evidence.jinja", told=told, result=result, recourse=recourse, model=recourse.model,
        schema=recourse.schema, actions=recourse.schema.action_set(result.factual), proofs=proofs,
        pictures=tuple(told.pictures()) if pictures else (), report=report, sigma=sigma,
        bounded=any(map(is_bound, told.radii)),
        time_limit=time_limit, most=SHOWN, bins=BINS, name=option_name, kept=_kept, within=_range,
        uses=uses, digest=digest, text=text, highest=highest, beyond=beyond,
        beyond_words=beyond_words,
    )  # fmt: skip
    title = "Evidence report on one answer of a model"
    document = Document.of_ours(title, said, organisation, dated)
    return Evidence(document, proofs.made, proofs.verdicts, tuple(proofs.late))


@dataclass(frozen=True, eq=False)
class _EvidenceFacts:
    """What takes some working out, in the order of the report."""

    result: Result
    sigma: float
    time_limit: float | None
    shortfall: Shortfall | None
    reasons: tuple[Reason, ...]
    radii: list[Radius | None]
    explained: dict[int, Explanation]
    parts: Any  # what the model is made of, if it says so

    @classmethod
    def gathered(
        cls, result: Result, sigma: float, time_limit: float | None, method: Method, reference: Any
    ) -> _EvidenceFacts:
        """Find the reasons, and measure and explain the options."""
        recourse, places = result.recourse, range(len(result.options))
        shortfall, found = None, list[Reason]()
        if result.refused:
            schema, decision = recourse.schema, result.decision
            yes = (
                option
                for option in result.options
                if recourse.accepts(schema.action_set(option.x).own, decision)
            )
            way = min(yes, key=attrgetter("cost"), default=None)
            shortfall, found = found_by(result, method, reference, way)
        model, changed = recourse.model, [at for at in places if result.options[at].changes]
        parts = None
        if hasattr(model, "parts_of"):
            parts = model.parts_of(recourse.wanted_at).worded(recourse.schema)
        return cls(
            result, sigma, time_limit, shortfall,
            tuple(_worded(reason, result) for reason in principal(found)),
            [result.quick_radius(at) if recourse.exact else None for at in places],
            {at: result.explain(at) for at in changed if explainable(model)}, parts,
        )  # fmt: skip

    @property
    def kind(self) -> str:
        """What the model is: its class where it learns, and what it is made of."""
        model = self.result.recourse.model
        learns = hasattr(model, "fit") or self.parts is None  # else it is a sum that was read
        kinds = [type(model).__name__ * learns, self.parts.kind if self.parts else ""]
        return ": ".join(filter(None, kinds))

    def apart(self, reason: Reason) -> str:
        """How many of those compared with have a value that counts against the person."""
        if self.shortfall is None or not reason.apart.rows:
            return "together with other values"
        side = {"low": "higher", "high": "lower"}.get(reason.side, "another")
        if reason.apart.value is not None:
            side = reason.feature.describe(in_few_digits(reason.apart.value))
        return f"{reason.apart.rows:,} of {self.shortfall.rows:,}: {side}"

    @property
    def more(self) -> Iterator[tuple[str, str, str]]:
        """Each part of the question that is not the default: its name, what was asked, what it is.

        The target, the cost and the engine are told by themselves.
        """
        asked = self.result.question.to_dict()
        for part, meaning in HELP.items():
            name = outside(part)
            if name in asked and name not in ("confidence", "mode", "tolerance", "cost", "engine"):
                yield name, _asked_for(asked[name]), meaning

    def sure(self, confidence: float) -> str:
        """A confidence rounded down, told from what a yes takes and from what was asked for."""
        targets = (self.result.decision, *self.result.status)
        levels = (target.interval[0] for target in targets if target.mode != "argmax")
        return floored(confidence, levels, digits=3)

    def radius(self, at: int) -> str:
        """The radius of an approval; – for an option that is still refused."""
        if not self.result.accepted(at):
            return "–"
        return distance(self.radii[at])

    def noise(self, at: int) -> str:
        """How likely noise keeps an approval; – for an option that is still refused."""
        return str(self.result.robustness(at, self.sigma)) if self.result.accepted(at) else "–"

    def first(self, target: Target) -> Option | None:
        """The first option for a target that changes anything."""
        return next((o for o in self.result.options if o.target == target and o.changes), None)

    def pictures(self) -> Iterator[PictureBlock]:
        """The frontier and the waterfall, where there is a package to draw them."""
        from trust_recourse.answers.plot import draw_waterfall, waterfall_info

        if self.result.recourse.exact:
            yield from drawn(
                lambda: self.result.plot(sigma=self.sigma, time_limit=self.time_limit),
                "What each cost buys in confidence, and where the options lie.",
            )
        if self.explained:
            at, why = next(iter(self.explained.items()))
            yield from drawn(
                lambda: draw_waterfall(waterfall_info(why)).figure,
                f"From the person to {option_name(at)}, {why.by} by {why.by}.",
            )

    def shares(self, why: Explanation) -> tuple[list[Mover], int, float]:
        """The shares that are told one by one, and how many others have which share."""
        moved, table = why.movers(STILL)[:SHOWN], why.to_frame()
        others = table["share"].sum() - sum(each.share for each in moved)
        return moved, len(table) - len(moved), 0.0 if abs(others) < STILL else others  # no minus 0

    def proved(self, verdicts: Mapping[Target, str]) -> Iterator[str]:
        """What is proved about the model."""
        for target, status in self.result.status.items():
            verdict = verdicts.get(target, "")
            sure = status in (Status.OPTIMAL, Status.INFEASIBLE) and self.result.engine == "exact"
            if sure and not self.result.extra_constraints and not verdict.startswith(REFUSED):
                checked = ", and by an independent check" if verdict else " alone"
                yield f"{target.words}: {status.sentence} By the search{checked}."
        if self.result.recourse.exact and self.result.options:
            yield "Every confidence above is the model’s own, computed exactly at the values shown."
            yield "Strictly within its radius no change of numbers loses an option’s decision."

    def refused(self, verdicts: Mapping[Target, str]) -> Iterator[str]:
        """What the search says, and a check of it does not."""
        for target, verdict in verdicts.items():
            if verdict.startswith(REFUSED):
                said = f"{target.words}: {self.result.status[target].sentence}"
                yield f"{said} That is what the search says; a check refused its proof."


def _worded(reason: Reason, result: Result) -> Reason:
    feature, usual = reason.feature, reason.usual
    return reason._replace(
        value=feature.describe(result.factual[feature.name]),
        typical="" if usual is None else feature.describe(in_few_digits(usual)),
    )


def _asked_for(value: Any) -> str:
    """A part of a question as people write it."""
    if isinstance(value, dict):
        ends = {name: ["" if end is None else end for end in each] for name, each in value.items()}
        return "; ".join(f"{name}={low}{SPAN}{high}" for name, (low, high) in ends.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _kept(feature: Feature, free: bool) -> str:
    if feature.protected:
        return "no: protected"
    return "yes" if free else "no"


def _range(feature: Feature) -> str:
    listed = feature.kind in ("category", "ordinal")
    if listed and feature.lower is None and feature.upper is None:
        return ", ".join(feature.describe_code(float(at)) for at in range(len(feature.values)))
    ends = [(word, end) for word, end in (("from", feature.lower), ("to", feature.upper))
            if end is not None]  # fmt: skip
    return " ".join(f"{word} {feature.describe(end)}" for word, end in ends)


@dataclass(frozen=True)
class _Proofs:
    """The certificate of every target that has one, and what a check of it says."""

    wanted: bool
    made: dict[Target, Certificate] = field(default_factory=dict)
    verdicts: dict[Target, str] = field(default_factory=dict)
    absent: dict[Target, str] = field(default_factory=dict)
    late: list[Target] = field(default_factory=list)  # those whose proof the limit ended


def _proofs(result: Result, wanted: bool, verify: bool, limit: float | None) -> _Proofs:
    """Prove every target within so many seconds each, and check that."""
    found = _Proofs(wanted)
    for target in result.status if wanted else ():
        try:
            found.made[target] = result.certificate(target, limit)
        except TimeoutError:
            found.late.append(target)
            found.absent[target] = (
                f"no proof within the time limit of {limit:g} s; a longer limit may complete it"
            )
        except ValueError as error:
            found.absent[target] = str(error)
        except TypeError as error:  # the model has no cells
            found.absent[target] = f"no certificate for this answer: {error}"
    for target, certificate in found.made.items() if verify else ():
        found.verdicts[target] = _verdict(certificate, result, target)
    return found


def _verdict(certificate: Certificate, result: Result, target: Target) -> str:
    recourse = result.recourse
    try:
        verdict = check(
            certificate, recourse.model, schema=recourse.schema, cost=recourse.cost,
            x=result.factual, target=target, wanted=recourse.wanted,
        )  # fmt: skip
    except CertificateError as error:
        return f"{REFUSED}: {error}"
    return f"holds: {verdict}"


def digest(certificate: Certificate) -> str:
    """SHA-256 of the file that `Certificate.save` writes."""
    return hashlib.sha256(certificate.to_json().encode()).hexdigest()
