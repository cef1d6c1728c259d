"""The evidence report: all that a model-risk officer needs to judge one answer, on paper.

Model, calibration, schema, rules, the question, the options and what each is worth, certificates,
attribution, fragility, a comparison, and what of all this is proved and what is not.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from trust_recourse import __version__
from trust_recourse.certificate import Certificate, CertificateError, check
from trust_recourse.question import Status, Target, option_name
from trust_recourse.report.content import (
    Block,
    Document,
    Grid,
    Heading,
    Picture,
    Points,
    Printed,
    Text,
    clean,
)
from trust_recourse.report.protected import uses
from trust_recourse.report.reasons import reasons
from trust_recourse.report.titles import titled
from trust_recourse.wording import distance, floored, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trust_recourse.report.model import ModelReport
    from trust_recourse.result import Result
    from trust_recourse.schema import Feature

SHOWN = 10  # rules of an attribution, and tightenings, that are told one by one
REFUSED = "REFUSED"  # how the verdict on a proof that fails begins
STILL = 5e-4  # a share that is shown as 0.000


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Printed):
    """What `evidence` wrote: `text()`, `html()`, `pdf(path)`, or `save(path)` by the path's ending.

    `certificates` maps each target that has one to its certificate, `verdicts` what a check said.
    """

    document: Document
    certificates: dict[Target, Certificate]
    verdicts: dict[Target, str]


def evidence(
    result: Result,
    *,
    organisation: str = "",
    report: ModelReport | None = None,
    certificates: bool = True,
    verify: bool = False,
    pictures: bool = True,
    sigma: float = 0.01,
    time_limit: float = 10.0,
    dated: datetime.date | None = None,
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
    time_limit : seconds for the frontier, and for each limit where nothing is within reach.
    dated : the day of the evidence report; today if None.

    """
    proofs = _Proofs(result, certificates, verify)
    result = titled(result, clean)
    blocks = (
        *_answer(result),
        *_model(result, report),
        *_schema(result),
        *_rules(result),
        *_question(result),
        *_options(result, sigma, time_limit),
        *_pictures(result, pictures, sigma, time_limit),
        *_attribution(result),
        *_fragility(result),
        *_comparison(result, sigma),
        *proofs.blocks(),
        *_proved(result, proofs.verdicts),
    )
    document = Document(
        "Evidence report on one answer of a model",
        dated or datetime.date.today(),
        clean(organisation),
        f"trust-recourse {__version__}",
        tuple(blocks),
    )
    return Evidence(document, proofs.made, proofs.verdicts)


# ---------------------------------------------------------------- the parts, in their order


def _answer(result: Result) -> Iterator[Block]:
    yield Heading("The answer")
    verdict = "refuses" if result.refused else "accepts"
    yield Text(
        f"The model {verdict} this person: its confidence in class {clean(result.recourse.wanted)} "
        f"is {_confidence(result, result.confidence)}."
    )
    told = []
    for target, status in result.status.items():
        first = next((o for o in result.options if o.target == target and o.changes), None)
        change = f" {result.words(first)} (cost {first.cost:.4g})." if first else ""
        told.append(clean(f"{target.words}: {status.sentence}{change}"))
    yield Points(tuple(told))
    if result.refused:
        yield Heading("Principal reasons for the refusal")
        yield Text(
            "A reason is one value; its weight is the confidence that the best value for it within "
            "the schema’s bounds would gain, all else as it is. Weights do not add up."
        )
        found = reasons(result, way=next(iter(result.options), None))
        action_set = result.recourse.schema.action_set(result.factual)
        rows = [
            (r.feature.title, r.value, f"{r.weight:.3f}" if r.weight else "only with others",
             _kept(r.feature, action_set[r.feature.name].free))
            for r in found
        ]  # fmt: skip
        yield _grid(("feature", "value", "weight", "may change"), rows)
        if protected := [r.feature.title for r in found if r.feature.protected]:
            yield Text(
                f"Protected, and among the principal reasons: {', '.join(protected)}. No letter "
                "names these until somebody says that they were reviewed."
            )


def _kept(feature: Feature, free: bool) -> str:
    if feature.protected:
        return "no: protected"
    return "yes" if free else "no"


def _confidence(result: Result, confidence: float) -> str:
    """Rounded down, and told from what a yes takes and from what was asked for."""
    levels = (target.interval[0] for target in result.status)
    return floored(confidence, (result.recourse.decision_threshold, *levels), digits=4)


def _model(result: Result, report: ModelReport | None) -> Iterator[Block]:
    model, recourse = result.recourse.model, result.recourse
    yield Heading("The model")
    rows = [
        ("kind", type(model).__name__),
        ("fingerprint", getattr(model, "fingerprint_", "none: this kind of model has none")),
        ("classes", ", ".join(map(str, getattr(model, "classes_", (0, 1))))),
        ("wanted class", str(recourse.wanted)),
        ("accepts from", str(recourse.decision_threshold)),
        ("features", str(len(recourse.schema))),
    ]
    if hasattr(model, "clauses"):
        rows.append(("thresholds", str(sum(len(each) for each in model.thresholds_))))
    if report is not None:
        rows.append(("rows in the model report", f"{report.rows}, in {report.folds} folds"))
    yield _grid(("", "value"), rows)
    if hasattr(model, "get_params"):
        settings = {k: v for k, v in model.get_params(deep=False).items() if k != "schema"}
        yield Text("Settings: " + ", ".join(f"{k}={v!r}" for k, v in settings.items()) + ".")
    own = recourse.schema.action_set(result.factual).own[None]
    if told := [clean(use.sentence("this person")) for use in uses(model, recourse.schema, own)]:
        yield Points(tuple(told))
    yield Heading("Calibration")
    if report is None:
        yield Text(
            "No model report was given, so nothing is said here of how often the model is right or "
            "how honest its confidence is: evidence(..., report=model_report(model, X, y)), or the "
            "command evidence with --data and --target."
        )
        return
    yield Text(
        f"Probabilities of {report.rows} rows held out of learning in {report.folds} folds, class "
        f"{report.label}: mean ± standard deviation over the folds. Accuracy is better high, the "
        "others low. The report learns anew on each fold, so it judges these settings."
    )
    summary = report.summary().reset_index()
    yield _grid(("model", *map(str, summary.columns[1:])), summary.to_numpy().tolist())
    curve = report.reliability.reset_index()
    rows_of = [
        (str(model_name), str(name), f"{said:.3f}", f"{came:.3f}", str(count))
        for model_name, name, said, came, count in curve.to_numpy().tolist()
    ]
    yield _grid(("model", "bin", "said", "came true", "rows"), rows_of)


def _schema(result: Result) -> Iterator[Block]:
    schema = result.recourse.schema
    yield Heading("What a person may change")
    rows = [
        (f.title, f.kind, _kept(f, f.mutable), f.direction or "", _range(f),
         "" if f.max_change is None else f.amount(f.max_change), f"{f.scale:g}", f"{f.weight:g}")
        for f in schema
    ]  # fmt: skip
    head = ("feature", "kind", "may change", "only", "within", "at most by", "scale", "weight")
    yield _grid(head, rows)
    if schema.relations:
        told = (each.sentence(schema) for each in schema.relations)
        yield Points(tuple(map(clean, told)))


def _range(feature: Feature) -> str:
    listed = feature.kind in ("category", "ordinal")
    if listed and feature.lower is None and feature.upper is None:
        return ", ".join(feature.describe_code(float(at)) for at in range(len(feature.values)))
    ends = [(word, end) for word, end in (("from", feature.lower), ("to", feature.upper))
            if end is not None]  # fmt: skip
    return " ".join(f"{word} {feature.describe(end)}" for word, end in ends)


def _rules(result: Result) -> Iterator[Block]:
    yield Heading("The rules of the model")
    if not hasattr(result.recourse.model, "clauses"):
        yield Text("This model has no rules to show.")
        return
    yield Text(
        "What each rule states, per feature, are the values at which it fires with at least half "
        "its best probability; a weak one states nothing. Dominance is how much likelier it fires "
        "for the rows of class "
        f"{result.recourse.model.classes_[1]} that it learnt from than for the others."
    )
    table = result.recourse.model.clauses().worded(result.recourse.schema).table()
    rows = [
        (str(j), str(each["votes_for"]), each["rule"], f"{each['dominance']:+.3f}")
        for j, each in table.to_dict("index").items()
    ]
    yield _grid(("rule", "votes for", "states", "dominance"), rows)


def _question(result: Result) -> Iterator[Block]:
    recourse, schema = result.recourse, result.recourse.schema
    yield Heading("The question")
    asked = "; ".join(target.words for target in result.status)
    more = f" and {result.extra_constraints}" if result.extra_constraints else ""
    cost = recourse.cost
    own = f", functions of its own for {', '.join(cost.functions)}" if cost.functions else ""
    yield Text(
        f"Confidence in class {recourse.wanted}: {asked}{more}. Cost: {cost.words}, in the "
        f"schema’s scales and weights{own}. Engine: {result.engine}."
    )
    action_set = schema.action_set(result.factual)
    rows = []
    for feature, actions in zip(schema, action_set.actions, strict=True):
        own_value = feature.describe(result.factual[feature.name])
        rows.append((feature.title, own_value, "stays" if not actions.free else "may change"))
    yield _grid(("feature", "this person’s value", "for this person"), rows)


def _options(result: Result, sigma: float, time_limit: float) -> Iterator[Block]:
    yield Heading("The options")
    rows = []
    for at, option in enumerate(result.options):
        kept = result.robustness(at, sigma)
        share = kept.copies if kept.probability is None else kept.probability
        rows.append(
            (option_name(at), option.target.words, str(option.status), f"{option.cost:.4g}",
             f"{option.lower_bound:.4g}", _confidence(result, option.confidence),
             _radius(result, at), percent(share, 2))
        )  # fmt: skip
    head = (
        "option", "asked for", "status", "cost", "lower bound", "confidence", "radius", "noise",
    )  # fmt: skip
    if rows:
        yield _grid(head, rows)
        yield Text(
            "Radius: the certified distance to the nearest loss of the decision. Noise: how likely "
            f"the decision survives Gaussian noise of {sigma:g} on every number. Both, as cost and "
            "its lower bound, in scaled units."
        )
        changes = [
            (option_name(at), result.words(option) or "none")
            for at, option in enumerate(result.options)
        ]
        yield _grid(("option", "changes"), changes)
    else:
        yield Text("There is none.")
    yield Points(
        tuple(
            f"{target.words}: {status.sentence} Boxes or trials: {result.nodes.get(target, 0):,}."
            for target, status in result.status.items()
        )
    )
    if Status.INFEASIBLE in result.status.values() and result.recourse.exact:
        max_confidence = result.max_confidence
        yield Text(
            f"The furthest within reach is {_confidence(result, max_confidence.confidence)}: "
            f"{result.words(max_confidence) or 'no change'}."
        )
        table = result.binding(time_limit)
        yield _grid(
            ("if", "reachable", "gain", "proved"),
            [(str(a), _confidence(result, b), f"{c:+.4f}",
              "yes" if d else "no: a time limit ended the search")
             for a, b, c, d in table.to_numpy().tolist()],
        )  # fmt: skip


def _radius(result: Result, at: int) -> str:
    return distance(result.radius(at) if result.recourse.exact else None)


def _pictures(result: Result, wanted: bool, sigma: float, limit: float) -> Iterator[Block]:
    if not wanted or importlib.util.find_spec("matplotlib") is None:
        return
    from trust_recourse.plot import draw_waterfall, waterfall_info
    from trust_recourse.plot.picture import svg

    if result.recourse.exact:
        yield Heading("Pictures")
        figure = result.plot(sigma=sigma, time_limit=limit)
        yield Picture(svg(figure), "What each cost buys in confidence, and where the options lie.")
    if _explained(result):
        ax = draw_waterfall(waterfall_info(result.explain(_explained(result)[0])))
        first = f"From the person to {option_name(_explained(result)[0])}, rule by rule."
        yield Picture(svg(cast("Figure", ax.figure)), first)


def _explained(result: Result) -> list[int]:
    """The options that an explanation by rules can tell of."""
    if not hasattr(result.recourse.model, "clauses"):
        return []
    return [at for at, option in enumerate(result.options) if option.changes]


def _attribution(result: Result) -> Iterator[Block]:
    for at in _explained(result):
        why = result.explain(at)
        yield Heading(f"Why {option_name(at)}: shares of the change in confidence")
        yield Text(
            f"From {_confidence(result, why.start.confidence)} to "
            f"{_confidence(result, why.end.confidence)}. "
            f"{why.note[:1].upper()}{why.note[1:]}".rstrip()
        )
        changes = [
            (each["feature"], each["from"], each["to"], f"{each['share']:+.3f}")
            for each in why.changes().to_dict("records")
        ]
        yield _grid(("feature", "from", "to", "share"), changes)
        table = why.to_frame()
        moved = table[table["share"].abs() >= STILL]
        rows = [
            (str(j), str(each["votes_for"]), each["rule"],
             f"{each['before']:.2f} → {each['after']:.2f}", f"{each['share']:+.3f}")
            for j, each in moved.head(SHOWN).to_dict("index").items()
        ]  # fmt: skip
        others = table["share"].sum() - moved.head(SHOWN)["share"].sum()
        if len(table) > len(rows):
            others = 0.0 if abs(others) < STILL else others  # no minus zero
            rows.append(("others", "", f"{len(table) - len(rows)} rules", "", f"{others:+.3f}"))
        yield _grid(("rule", "votes for", "states", "fires", "share"), rows)


def _fragility(result: Result) -> Iterator[Block]:
    explained = _explained(result)
    if not explained:
        return
    yield Heading("What the options rest on")
    for at in explained:
        why = result.explain(at)
        carrying, fragile = int(why.carrying.sum()), int(why.fragile.sum())
        yield Text(
            f"{option_name(at).capitalize()} is carried by {carrying} rule{'s' * (carrying != 1)}, "
            f"{fragile} of them fragile; that no rule fires has the probability "
            f"{why.end.silence:.3f}."
        )
        name = why.end.name
        rows = [
            (str(each.clause), each.literal, f"{each.probability:.3f}",
             _confidence(result, each.breaks[name]), "missed" if name in each.misses else "kept")
            for each in why.tightenings[:SHOWN]
        ]  # fmt: skip
        if rows:
            yield Text("What may silence them; the confidence already has this averaged in:")
            yield _grid(
                ("rule", "may also ask for", "probability", "confidence then", "target then"), rows
            )
        if (more := len(why.tightenings) - SHOWN) > 0:
            yield Text(f"And {more} more, less likely.")


def _comparison(result: Result, sigma: float) -> Iterator[Block]:
    explained = _explained(result)
    if len(explained) < 2:
        return
    compared = result.compare(*explained[:2], sigma=sigma)
    yield Heading("Two options side by side")
    words = compared.words()
    rows = [(str(name), *map(str, row)) for name, row in zip(words.index, words.to_numpy(),
            strict=True)]  # fmt: skip
    yield _grid(("", *map(str, words.columns)), rows)
    yield Text(clean(compared.sentence))


class _Proofs:
    """The certificate of every target that has one, and what a check of it says."""

    def __init__(self, result: Result, wanted: bool, verify: bool) -> None:
        self.made: dict[Target, Certificate] = {}
        self.verdicts: dict[Target, str] = {}
        self.absent: dict[Target, str] = {}
        self.wanted = wanted
        for target in result.status if wanted else ():
            try:
                self.made[target] = result.certificate(target)
            except ValueError as error:
                self.absent[target] = str(error)
        for target, certificate in self.made.items() if verify else ():
            self.verdicts[target] = _verdict(certificate, result, target)

    def blocks(self) -> Iterator[Block]:
        """The certificates, each by the hash of its file."""
        yield Heading("Certificates")
        if not self.wanted:
            yield Text("None was asked for.")
            return
        rows = [
            (target.words, digest(proof), self.verdicts.get(target, "not checked here"))
            for target, proof in self.made.items()
        ]
        rows += [(target.words, "none", reason) for target, reason in self.absent.items()]
        yield _grid(("asked for", "SHA-256 of its file", "verdict"), rows)
        if self.made:
            yield Text(
                "A certificate’s file is what its save(path) writes, or the command evidence with "
                "--proofs FOLDER; the command verify checks it anew."
            )


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
    text = json.dumps(certificate.to_dict(), allow_nan=False, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _proved(result: Result, verdicts: Mapping[Target, str]) -> Iterator[Block]:
    proved, refused = [], []
    for target, status in result.status.items():
        said = f"{target.words}: {status.sentence}"
        verdict = verdicts.get(target, "")
        if verdict.startswith(REFUSED):
            refused.append(f"{said} That is what the search says; a check refused its proof.")
        elif status in (Status.OPTIMAL, Status.INFEASIBLE) and not result.extra_constraints:
            checked = ", and by an independent check" if verdict else " alone"
            proved += [f"{said} By the search{checked}."] * (result.engine == "exact")
    if result.recourse.exact and result.options:
        proved += [
            "Every confidence above is the model’s own, computed exactly at the values shown.",
            "Strictly within its radius no change of numbers loses an option’s decision.",
        ]
    yield Heading("What is proved")
    if proved:
        yield Text("About the model:")
        yield Points(tuple(proved))
    else:
        yield Text("Nothing beyond the model’s answers at the values shown.")
    yield Heading("What is not proved")
    yield Points(
        (
            *refused,
            "That changing a value changes the world: a statement here is about the model.",
            "That the model is right about this person, or fair to them.",
            "That a change is possible or acceptable beyond what the schema says.",
            "That the answer outlives this model: it holds for this fingerprint alone.",
            "Options after the first of a confidence are the cheapest of their kind among the "
            "cheapest points of the model’s cells; a dearer point of a cell is not looked at.",
            "Shares split a change in confidence exactly, but do not say what causes what.",
        )
    )


def _grid(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    cells = tuple(tuple("" if pd.isna(cell) else clean(cell) for cell in row) for row in rows)
    return Grid(tuple(head), cells)
