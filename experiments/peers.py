"""Other makers of counterfactuals, asked the same questions, each in an environment of its own.

DiCE (random and genetic), NICE and treecf pin versions that clash with ours and with each other's,
so each lives in `.venv-peers/<name>` (`make peers` builds them from `environments/<name>.txt`) and
is asked by a script there, `environments/ask_<name>.py`, over a pipe. The model stays on this side
and answers `predict_proba` over the same pipe, so that every peer asks the very same model; only
treecf, which reads the trees themselves, learns its own copy from the same rows and seed. Whatever
comes back is measured here: what a peer says of its own answers is not used.

DiCE and treecf take a target confidence. NICE does not: it is shown the model's probabilities
stretched so that the target lies at one half (`stretched`). So is DiCE's genetic search once more,
which does not look at its `stopping_threshold` until it has ended.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.frame import Table, Unit
from experiments.paper import SEED, TITLES, split
from experiments.people import queries, recourse
from trust_recourse import Recourse, Target
from trust_recourse.answers import copies

LEVELS = (0.5, 0.85)
RADIUS = 0.03  # three times the noise that robustness is measured by
NODES = 100_000  # of our own search, so that a slow machine gives the same answers
OPTIONS = 5  # asked of a peer that can give several; the cheapest that reaches the target counts
MOST_SECONDS = 60.0  # for one query
START_SECONDS = 120.0  # for a peer's environment to load
COPIES, SIGMA = 50, 0.01

HERE = Path(__file__).parent
SCRIPTS = HERE / "environments"
BUILT = HERE.parent / ".venv-peers"
MODELS = {"margin": "PTM, margin link", "vote": "PTM, vote link", "trees": "gradient boosting"}


@dataclass(frozen=True)
class Peer:
    """A method: where it lives, what its script is told, and what it can be asked about."""

    title: str
    environment: str  # ours is ""
    method: str
    models: tuple[str, ...]
    levels: tuple[float, ...] = LEVELS
    stretch: bool = False  # it sees probabilities stretched so that the target lies at one half


EVERY = tuple(MODELS)
PTM = ("margin", "vote")
PEERS = {
    "exact": Peer("TRUST exact", "", "exact", PTM),
    "certified": Peer(f"TRUST exact, radius {RADIUS:g}", "", "exact", PTM),
    "tpe": Peer("TRUST tpe", "", "tpe", ("trees",)),
    "dice_random": Peer("DiCE random", "dice", "random", EVERY),
    "dice_genetic": Peer("DiCE genetic", "dice", "genetic", EVERY),
    "dice_genetic_stretched": Peer(
        "DiCE genetic, τ at ½", "dice", "genetic", EVERY, (0.85,), stretch=True
    ),
    "nice": Peer("NICE, τ at ½", "nice", "proximity", EVERY, stretch=True),
    "treecf_exact": Peer("treecf exact (L1)", "treecf", "exact", ("trees",)),
    "treecf_genetic": Peer("treecf genetic (L1)", "treecf", "genetic", ("trees",)),
}


# ---------------------------------------------------------------- the pipe


class Reply(NamedTuple):
    """What a peer sent: for each query what it found, and which versions of what spoke."""

    answers: list[dict]
    versions: dict[str, str]
    trouble: str  # why there are fewer answers than queries; "" if there are not


def converse(command, request, probability, most_seconds):
    """Run a peer's script, send it the request, answer its questions to the model, and listen.

    `probability` takes an array of rows to the probability of class 1. A script that is not done
    after `most_seconds` is ended, and the reply holds what it had answered until then.
    """
    answers, versions = [], {}
    with tempfile.TemporaryFile("w+") as errors:
        script = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=errors, text=True,
        )  # fmt: skip
        late = threading.Timer(most_seconds, script.kill)
        late.start()
        try:
            with script:
                _send(script, request)
                for line in script.stdout:
                    message = json.loads(line)
                    if "predict" in message:
                        given = probability(np.array(message["predict"], dtype=float))
                        _send(script, {"probability": np.asarray(given).tolist()})
                    elif "versions" in message:
                        versions = message["versions"]
                    else:
                        answers.append(message)
        except BrokenPipeError:
            pass  # it ended before it had read all; what it said of that is in `errors`
        finally:
            late.cancel()
        if versions:
            return Reply(answers, versions, "")
        errors.seek(0)
        said = [line for line in errors.read().splitlines() if line.strip()] or ["it said nothing"]
    ended = f"ended after {most_seconds:g} seconds" if script.returncode == -9 else "it failed"
    return Reply(answers, versions, f"{ended}: {said[-1].strip()}")


def _send(script, message):
    script.stdin.write(json.dumps(message) + "\n")
    script.stdin.flush()


def stretched(probability, level):
    """Probabilities on a scale on which the level is one half; which are above it stays the same.

    >>> stretched(np.array([0.0, 0.425, 0.85, 0.925, 1.0]), 0.85).round(3).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    p = np.asarray(probability, dtype=float)
    low, high = p / (2 * level), 0.5 + (p - level) / (2 * (1 - level))
    return np.where(p < level, np.minimum(low, np.nextafter(0.5, 0.0)), high)


def built_of(environment):
    """The versions that a peer's environment was built of, in one line; "" where there is none."""
    ready = BUILT / environment / "ready"  # written last, when all of it is installed
    if not environment or not ready.exists():
        return ""
    lines = (line.partition("#")[0].strip() for line in ready.read_text().splitlines())
    return " ".join(filter(None, lines))


# ---------------------------------------------------------------- what an answer is worth


class Measures(NamedTuple):
    """What we find at a row that someone recommends."""

    l1: float
    l2: float
    confidence: float
    robustness: float
    reached: bool  # the target, by allowed values
    x: list[float]  # the row itself, so that all of this can be measured again


def measured(ask, x, other, level):
    """The measures of one answer, from its values alone; `ask` is the model's `Recourse`."""
    codes = np.asarray(other, dtype=float)
    moved = codes - x.to_numpy(dtype=float)
    confidence = ask.confidence_of(codes)
    return Measures(
        l1=float(np.abs(moved).sum()),
        l2=float(np.linalg.norm(moved)),
        confidence=confidence,
        robustness=copies(
            ask.confidences,
            codes,
            ask.schema,
            SIGMA,
            n_copies=COPIES,
            random_state=SEED,
            continuous=True,
        ),
        reached=Target(level).met(confidence) and not ask.schema.action_set(x).why_not(codes),
        x=codes.tolist(),
    )


def chosen(options):
    """Of several answers the cheapest in L2 that reaches the target, else the most confident."""
    reached = [option for option in options if option.reached]
    if reached:
        return min(reached, key=lambda option: option.l2)
    return max(options, key=lambda option: option.confidence, default=None)


# ---------------------------------------------------------------- the work


def units(scale):
    """One unit for each table, model, method and level."""
    return [
        Unit(
            "peers",
            f"{data} {model} {key} {level:g}",
            ask_all,
            (data, model, key, level, scale.queries, scale.trials, built_of(peer.environment)),
            seconds=3.0 if not peer.environment else 15.0,
        )
        for data in scale.data
        for key, peer in PEERS.items()
        for model in peer.models
        for level in peer.levels
    ]


def ask_all(data, model, key, level, most, trials, built):
    """One method's answers to the people a model refuses: one row each, or why there are none."""
    peer = PEERS[key]
    told = {"data": data, "model": model, "peer": key, "level": level}
    if peer.environment and not built:
        where = f"{BUILT.name}/{peer.environment}"
        return [told | {"skipped": f"no environment {where} here; `make peers` builds it"}]
    rows = []
    for group in grouped(data, model, most):
        if peer.environment:
            reply = by_wire(peer, group, level)
        else:
            reply = by_us(key, group, level, trials)
        rows += judged(told, group, level, reply)
    return rows


class Group(NamedTuple):
    """People whom one model refuses, and what it learnt from."""

    recourse: Recourse
    queries: pd.DataFrame  # by their row in the table
    X: pd.DataFrame
    y: np.ndarray


def grouped(data, model, most):
    """The people a model refuses, together where one and the same model did not learn from them."""
    asked = queries(data, "refused", model, most)
    groups = []
    for fold in sorted({query.fold for query in asked}, key=str):
        ours = [query for query in asked if query.fold == fold]
        s = split(data, fold)
        people = s.X.iloc[[query.row for query in ours]].set_axis([q.row for q in ours])
        groups.append(Group(recourse(model, ours[0]), people, s.X.iloc[s.learnt], s.y[s.learnt]))
    return groups


def judged(told, group, level, reply):
    """A row for each person from what a method replied."""
    rows = []
    unanswered = {"found": [], "note": reply.trouble, "seconds": None}
    answers = reply.answers + [unanswered] * (len(group.queries) - len(reply.answers))
    for (label, x), answer in zip(group.queries.iterrows(), answers, strict=True):
        best = chosen([measured(group.recourse, x, row, level) for row in answer["found"]])
        row = told | {"query": int(label), "found": len(answer["found"]), "note": answer["note"]}
        row |= {key: answer.get(key) for key in ("seconds", "waited", "calls", "rows", "status")}
        rows.append(row | ({} if best is None else best._asdict()) | {"versions": reply.versions})
    return rows


def ranges_of(schema):
    """Where each feature may go."""
    return [[feature.lower, feature.upper] for feature in schema]


def by_wire(peer, group, level):
    """A peer's reply, through the pipe to its environment."""
    schema = group.recourse.schema
    request = {
        "names": list(schema.names),
        "train": group.X.to_numpy().tolist(),
        "labels": group.y.tolist(),
        "queries": group.queries.to_numpy().tolist(),
        "ranges": ranges_of(schema),
        "vary": [feature.name for feature in schema if feature.mutable],
        "confidence": 0.5 if peer.stretch else level,
        "method": peer.method,
        "options": OPTIONS,
        "seed": SEED,
        "most_seconds": MOST_SECONDS,
    }
    ask = group.recourse.confidences

    def probability(rows):
        return stretched(ask(rows), level) if peer.stretch else ask(rows)

    python = BUILT / peer.environment / "bin" / "python"
    script = SCRIPTS / f"ask_{peer.environment}.py"
    longest = START_SECONDS + MOST_SECONDS * len(group.queries)
    return converse([python, script], request, probability, longest)


def by_us(key, group, level, trials):
    """Our own reply, in the same shape; what is compiled on first use is not timed."""
    settings = {"engine": "exact", "node_limit": NODES}
    if key == "tpe":
        settings = {"engine": "tpe", "n_trials": trials, "random_state": SEED}
    if key == "certified":
        settings |= {"min_radius": RADIUS, "continuous": True}
    ask = group.recourse.find
    ask(group.queries.iloc[0], level, **settings)
    answers = []
    for _, x in group.queries.iterrows():
        start = time.perf_counter()
        result = ask(x, level, **settings)
        seconds = time.perf_counter() - start
        (status,) = result.status.values()
        found = [option.x.to_numpy(dtype=float).tolist() for option in result.options]
        answers.append({"found": found, "note": "", "seconds": seconds, "status": str(status)})
    return Reply(answers, {}, "")


# ---------------------------------------------------------------- the tables

HEADER = (
    "Data", "τ", "Method", "n", "Answered", "Reach", "L1", "L2", "Confidence", "Robustness",
    "Seconds", "Proved", "L2 / least", "L2 / certified",
)  # fmt: skip
AVERAGED = ("l1", "l2", "confidence", "robustness")


def tables(rows):
    """One table for each model, with what follows from it."""
    asked = [row for row in rows if "skipped" not in row]
    exact = [row for row in asked if row["peer"] == "exact" and row["status"] == "optimal"]
    safe = [row for row in asked if row["peer"] == "certified" and row.get("reached")]
    least, certified = ({_question(row): row["l2"] for row in of} for of in (exact, safe))
    return [
        Table(
            f"Peers on {MODELS[model]}",
            HEADER,
            tuple(_line(key, of, least, certified) for key, of in _grouped(rows, model)),
            _sentences([row for row in asked if row["model"] == model], least, certified)
            + _remarks(rows),
        )
        for model in MODELS
        if any(row["model"] == model for row in rows)
    ]


def _question(row):
    return row["data"], row["model"], row["level"], row["query"]


def _grouped(rows, model):
    """The rows of each cell of a table, by data, level and method, in the order of their lists."""
    groups = defaultdict(list)
    for row in rows:
        if row["model"] == model:
            groups[row["data"], row["level"], row["peer"]].append(row)
    place = [list(TITLES), list(LEVELS), list(PEERS)]
    order = sorted(groups, key=lambda key: [p.index(k) for p, k in zip(place, key, strict=True)])
    return [(key, groups[key]) for key in order]


def _line(key, rows, least, certified):
    """A line of a table: shares of all who asked, then means over those who reach the target."""
    data, level, peer = key
    head = (TITLES[data], f"{level:g}", PEERS[peer].title)
    if "skipped" in rows[0]:
        return (*head, "not run", *[""] * (len(HEADER) - 4))
    reached = [row for row in rows if row.get("reached")]
    means = [f"{fmean(row[name] for row in reached):.3f}" if reached else "–" for name in AVERAGED]
    seconds = [row["seconds"] for row in rows if row["seconds"] is not None]
    ratios = [_ratios(reached, least), _ratios(reached, certified)]
    proved = sum(row["status"] in ("optimal", "infeasible") for row in rows)
    return (
        *head,
        str(len(rows)),
        f"{fmean(bool(row['found']) for row in rows):.0%}",
        f"{len(reached) / len(rows):.0%}",
        *means,
        f"{median(seconds):.3g}" if seconds else "–",
        f"{proved} of {len(rows)}" if peer in ("exact", "certified") else "–",
        *(f"{median(of):.2f}" if of else "–" for of in ratios),
    )


def _ratios(reached, least):
    """Each answer's L2 over another to the same question, where there is one."""
    return [row["l2"] / least[_question(row)] for row in reached if _question(row) in least]


def _sentences(rows, least, certified):
    """What the rows of one model say of each method, whichever way they come out."""
    ours = "certified" if any(row["peer"] == "certified" for row in rows) else "tpe"
    answers = {_question(row): row for row in rows if row["peer"] == ours and row.get("reached")}
    said = []
    for key, peer in PEERS.items():
        mine = [row for row in rows if row["peer"] == key]
        if not mine:
            continue
        reached = [row for row in mine if row.get("reached")]
        parts = [f"reaches the target for {len(reached)} of {len(mine)} questions"]
        if reached:
            parts.append(f"its robustness is {fmean(r['robustness'] for r in reached):.3f}")
        if peer.environment or key == "certified":
            parts += _dearer(_ratios(reached, least))
        if peer.environment and (ratios := _ratios(reached, certified)):
            title = PEERS["certified"].title
            parts.append(f"{median(ratios):.2f} times that of {title} in the median")
        if peer.environment:
            parts += _beside(ours, [(row, answers.get(_question(row))) for row in reached])
        said.append(f"{peer.title}: {'; '.join(parts + _without(mine))}.")
    return (*said, *_edge(rows))


def _edge(rows):
    """Why the least cost and a peer's are not the same good: how robust either is."""
    kept = {
        key: fmean(firm)
        for key in PEERS
        if (
            firm := [row["robustness"] for row in rows if row["peer"] == key and row.get("reached")]
        )
    }
    peers = [share for key, share in kept.items() if PEERS[key].environment]
    if not peers or not {"exact", "certified"} <= set(kept):
        return ()
    return (
        "What the ratios compare. The least L2 is that of a point at the edge of what was asked, "
        "at τ = 0.5 of the decision itself, so noise takes it across easily: its robustness is "
        f"{kept['exact']:.2f} on average, the peers' {min(peers):.2f} to {max(peers):.2f}. Ours "
        f"with a certified radius of {RADIUS:g} has {kept['certified']:.2f}, so “L2 / certified” "
        "is the fairer comparison.",
    )


def _dearer(ratios):
    """By how much answers cost more than the least; none may cost less, and it says if one does."""
    if not ratios:
        return []
    cheaper = sum(ratio < 1 - 1e-6 for ratio in ratios)
    return [
        f"its L2 is {median(ratios):.2f} times the proved least in the median and "
        f"{np.quantile(ratios, 0.9):.2f} times at the ninth decile, below it for {cheaper} of "
        f"{len(ratios)}"
    ]


def _beside(key, pairs):
    """A method's answers beside ours to the same questions, by this method of ours."""
    pairs = [(theirs, ours) for theirs, ours in pairs if ours is not None]
    if not pairs:
        return []
    cheaper = sum(ours["l2"] < theirs["l2"] for theirs, ours in pairs)
    firmer = sum(ours["robustness"] >= theirs["robustness"] for theirs, ours in pairs)
    less = sum(theirs["l1"] < ours["l1"] for theirs, ours in pairs)
    longer = median(ours["seconds"] / theirs["seconds"] for theirs, ours in pairs)
    return [
        f"the answer of {PEERS[key].title} to the same question has less L2 for {cheaper} and is "
        f"at least as robust for {firmer} of {len(pairs)}, has more L1 for {less}, and took "
        f"{longer:,.2f} times as long in the median"
    ]


def _without(rows):
    """How many came back with nothing, and why."""
    stopped = sum(row["note"].startswith(("stopped", "ended")) for row in rows)
    failed = sum(bool(row["note"]) for row in rows) - stopped
    said = [f"{stopped} ran out of time"] if stopped else []
    return said + ([f"{failed} gave an error instead of an answer"] if failed else [])


def _remarks(rows):
    """How the numbers came about, and who could not be asked."""
    versions = {}
    for row in rows:
        versions |= row.get("versions") or {}
    named = {k: v for k, v in versions.items() if k in ("dice-ml", "NICEx", "treecf")}
    skipped = sorted({row["skipped"] for row in rows if "skipped" in row})
    remarks = [
        "Answered: something came back. Reach: the target is met by our own reading of the model, "
        "with allowed values. L1 to Robustness are means over the answers that reach it, "
        f"recomputed from the values returned ({COPIES} copies, σ = {SIGMA:g}); L2 / least is the "
        "median of L2 over the proved optimum of the same question, L2 / certified that "
        f"over our answer with a radius of {RADIUS:g}. Proved: how many of our exact answers are "
        "proved to be the least. What draws by chance (DiCE, treecf's genetic search, our TPE) ran "
        f"once, with the seed {SEED}. Methods that give several options were asked for {OPTIONS}, "
        "and the cheapest that reaches counts. L2 is what we minimise, and we alone: treecf "
        "minimises L1, DiCE and NICE weigh distance in ways of "
        "their own.",
        f"Seconds are wall clock for one query, {MOST_SECONDS:g} at most, the median over queries, "
        "since we are asked once before it counts and a peer is not; a peer's include asking "
        "the model through a pipe, and nothing is subtracted. Starting an environment and building "
        "an explainer are not counted, nor is our compiling on first use. Our exact search ends "
        f"after {NODES:,} boxes, so what it did not reach by then is not proved out of reach.",
        "“τ at ½”: the method was shown probabilities stretched so that τ lies at ½; NICE knows no "
        "other target, and DiCE's genetic search steers by ½ alone and only drops, at its end, "
        "what misses its `stopping_threshold`. DiCE's answers have 3 decimals (random) or 9.",
    ]
    if named:
        told = ", ".join(f"{name} {number}" for name, number in sorted(named.items()))
        remarks.append(f"Versions: {told}.")
    return (*remarks, *(f"Not run: {reason}." for reason in skipped))
