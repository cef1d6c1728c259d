"""`trust-recourse demo`: one function a chapter; every number is computed as it runs."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from trust_recourse.cli import page
from trust_recourse.cli.root import app, option
from trust_recourse.cli.verify import read, said

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import Option, PTMClassifier, Recourse, Result

SHOWN_RULES = 5
BAR = 40  # characters of the histogram's longest bar
LEAST_CHANCE = 0.005  # rarer votes are left out of the histogram
PROVED = {
    "optimal": "nothing cheaper reaches it",
    "infeasible": "no allowed change reaches it",
    "already_met": "met already",
}
CONFIDENCES = (0.5, 0.7, 0.85, 0.95)
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)  # of which the paper's patient gets two
PAPERS_PATIENT = {"age": 56, "year": 65, "nodes": 9}  # its section 6.3
SIGMA = 0.01  # of the noise, as in the paper
ROOM = 0.02  # around an answer: one node and a year of age, but no whole year of operation
TRIALS = 100
PASSES = (50, 500, 5000)
COMPARED = 30  # patients in the comparison with Monte Carlo, which takes a second or two
OUTCOMES = ("died", "survived")
# its machine, with the margin: all of what this shows is small enough to be looked at
PAPERS_MACHINE: dict[str, Any] = {
    "n_clauses": 20, "n_states": 100, "s": 1.5, "T": 5, "thresholds": 20, "binning": "rows",
    "validation_fraction": 0.0, "link": "margin",
}  # fmt: skip
COLUMNS = {
    "age": "age at the operation, in years",
    "year": "year of the operation, less 1900",
    "nodes": "lymph nodes found to hold cancer",
}
SOURCE = (
    "Data (CC BY 4.0; columns renamed, outcome recoded): S. J. Haberman, 1976, UCI Machine "
    "Learning Repository, https://doi.org/10.24432/C5XK51"
)


@app.command()
def demo(
    seed: Annotated[int, option("Seed of all chance.", min=0, max=2**32 - 1)] = 0,
    epochs: Annotated[int, option("Readings of the data while learning.", min=1)] = 60,
) -> None:
    """Let a Probabilistic Tsetlin Machine learn from Haberman's patients, and question it.

    How good it is beside logistic regression, the rules it learnt, one patient it refuses, what
    would have to be different for it to accept them, how safe that is, and a proof of it, checked.
    It takes some seconds and leaves no file behind.

    Example: `trust-recourse demo --seed 7 --epochs 20`
    """
    console = page.console(markup=True)
    with console.status("Starting"):
        X, y = _warm_start()
    _patients(console, X, y)
    model = _learnt(console, X, y, seed, epochs)
    _honesty(console, model, X, y, seed)
    _rules(console, model, X, y)
    patient = _one_patient(console, model, X, y)
    _exactness(console, model, X, seed)
    result = _recourse(console, model, patient)
    _robustness(console, result)
    _frontier(console, result)
    _why(console, result.recourse)
    _certificate(console, result, model)
    _black_box(console, result, X, y, seed)
    console.print("\nAll of this is about the model, not about the world. Read on in README.md.")


def _warm_start() -> tuple[pd.DataFrame, pd.Series[int]]:
    """Load the patients and all packages that are needed later."""
    from trust_recourse import PTMClassifier, Recourse, haberman

    X, y = haberman()
    model = PTMClassifier(**PAPERS_MACHINE, epochs=1, random_state=0).fit(X, y)
    model.predict_proba(X.head(1))
    model.predict_proba_mc(X.head(1), n_passes=1, random_state=0)
    Recourse(model).find(X.iloc[0], 0.99)
    return X, y


# ------------------------------------------------------------------ the chapters


def _patients(console: Console, X: pd.DataFrame, y: pd.Series[int]) -> None:
    page.chapter(console, "1  The patients")
    console.print(
        f"{len(X)} people were operated on for breast cancer in Chicago between "
        f"{1900 + X['year'].min()} and {1900 + X['year'].max()}. {y.sum()} of them "
        f"({y.mean():.1%}) survived five years or longer. Known of each:"
    )
    table = page.table("column", "meaning", "from", "to", "median", text=2)
    for name, meaning in COLUMNS.items():
        low, high, middle = X[name].min(), X[name].max(), X[name].median()
        table.add_row(name, meaning, f"{low}", f"{high}", f"{middle:g}")
    console.print(table)
    console.print(f"\n[dim]{SOURCE}")


def _learnt(
    console: Console, X: pd.DataFrame, y: pd.Series[int], seed: int, epochs: int
) -> PTMClassifier:
    from trust_recourse import PTMClassifier

    model = PTMClassifier(**PAPERS_MACHINE, epochs=epochs, random_state=seed, verbose=True)
    page.chapter(console, "2  The model")
    console.print(
        f"A Probabilistic Tsetlin Machine is a committee of rules, here {model.n_clauses}. Half "
        f"can vote '{OUTCOMES[1]}', half '{OUTCOMES[0]}'. Each condition belongs to its rule only "
        "with some probability, so whether a rule applies to a patient is a probability too."
    )
    _, seconds = page.timed(partial(model.fit, X, y))
    console.print(f"It read all {len(X)} patients {epochs} times in {seconds:.2f} seconds.")
    model.set_params(verbose=False)
    return model


def _honesty(
    console: Console, model: PTMClassifier, X: pd.DataFrame, y: pd.Series[int], seed: int
) -> None:
    from trust_recourse import model_report

    page.chapter(console, "3  How good is it, and how honest?")
    with console.status("Learning again, each time without the patients to be judged."):
        report = model_report(model, X, y, random_state=seed)
    console.print(
        f"Judged on patients kept out of learning, in {report.folds} turns (mean ± spread):"
    )
    page.scores(console, report)
    fullest = report.reliability.loc[[type(model).__name__]].nlargest(1, "count").iloc[0]
    console.print(
        "\nAUC: how often, of two patients, the one who survived is given more. "
        f"Accuracy: the share judged rightly ('{OUTCOMES[1]}' for everyone: {y.mean():.3f}). "
        "Log-loss, Brier: the price of misplaced confidence, 0 is best. ECE: how far stated "
        "chances lie from what came true, partly by luck. Differences within the ± mean little. "
        f"Example: {fullest['count']:.0f} patients were given about {fullest['confidence']:.0%}; "
        f"{fullest['observed']:.0%} of them survived."
    )


def _rules(console: Console, model: PTMClassifier, X: pd.DataFrame, y: pd.Series[int]) -> None:
    q = model.clause_proba(X)
    rules = model.rules().assign(yes=q[y == 1].mean(axis=0), no=q[y == 0].mean(axis=0))
    rules["dominance"] = rules["yes"] - rules["no"]
    clear = rules[~rules["weak"]].sort_values("dominance", key=abs, ascending=False)
    page.chapter(console, "4  What it learnt")
    weak = f"{rules['weak'].sum()} of the {len(rules)} rules are weak: no column alone halves their"
    if clear.empty:
        console.print(f"{weak} chance to apply. More epochs would make some clearer.")
        return
    console.print(
        f"{weak} chance to apply. The others that best tell the two groups apart, how often they "
        "apply to each, and the difference (dominance, in points):"
    )
    table = page.table("rule", "votes for", "to survivors", "to the others", "dominance", text=2)
    table.columns[0].no_wrap = False
    for rule in clear.head(SHOWN_RULES).to_dict("records"):
        table.add_row(
            rule["rule"], OUTCOMES[rule["votes_for"]],
            f"{rule['yes']:.1%}", f"{rule['no']:.1%}", f"{100 * rule['dominance']:+.1f}",
        )  # fmt: skip
    console.print(table)


def _one_patient(
    console: Console, model: PTMClassifier, X: pd.DataFrame, y: pd.Series[int]
) -> pd.DataFrame:
    ages = X["age"]
    ordinary = X[ages.between(ages.quantile(0.25), ages.quantile(0.75))]
    least = int(model.predict_proba(ordinary)[:, 1].argmin())
    patient = ordinary.iloc[[least]]
    confidence = model.predict_proba(patient)[0, 1]
    values = ", ".join(f"{name} {patient[name].item()}" for name in COLUMNS)
    page.chapter(console, "5  One patient")
    console.print(
        f"Of the {len(ordinary)} patients of ordinary age (the middle half, "
        f"{ordinary['age'].min()} to {ordinary['age'].max()}) the model is least confident in the "
        f"survival of this one: [bold]{values}[/]. It says [bold]{confidence:.1%}[/]; in fact the "
        f"patient {OUTCOMES[y[patient.index].item()]}. Each rule that applies casts its vote; the "
        "exact chances of the votes for survival (█) less the votes against (░):"
    )
    _histogram(console, model.vote_distribution(patient).iloc[0])
    doubt, coin = model.uncertainty(patient).iloc[0], math.log(2)
    console.print(
        f"\nA vote of -{model.T} or less counts as 0, of +{model.T} or more as 1, in proportion "
        f"between; the mean is the {confidence:.1%}. Its uncertainty is "
        f"{doubt['entropy'] / coin:.0%} of a coin's (entropy {doubt['entropy']:.3f} of {coin:.3f} "
        f"nats). Of it {doubt['epistemic']:.3f}, the epistemic part, would go were the vote known."
    )
    return patient


def _histogram(console: Console, law: pd.Series[float]) -> None:
    for vote, chance in zip(law.index.tolist(), law.tolist(), strict=True):
        if chance >= LEAST_CHANCE:
            sign, style = ("░", "dark_orange3") if vote < 0 else ("█", "dodger_blue2")
            bar = (sign if vote else "▒") * max(1, round(BAR * chance / law.max()))
            name = f"{vote:+d}" if vote else "0"
            console.print(f"  vote {name:>3}  {chance:6.1%}  [{style}]{bar}")


def _exactness(console: Console, model: PTMClassifier, X: pd.DataFrame, seed: int) -> None:
    some = X.iloc[model.predict_proba(X)[:, 1].argsort()[:COMPARED]]
    exact, seconds = page.timed(partial(model.predict_proba, some))
    page.chapter(console, "6  Exact, not sampled")
    console.print(
        "The paper draws the conditions at random, K times over, and averages. Here the mean over "
        f"all draws is computed. For the {len(some)} patients of lowest confidence:"
    )
    table = page.table("way", "largest error", "error × √K", "time")
    for passes in PASSES:
        drawn, spent = page.timed(partial(model.predict_proba_mc, some, passes, seed))
        error = abs(drawn - exact).max()
        table.add_row(
            f"K = {passes:,} passes", f"{error:.4f}", f"{error * math.sqrt(passes):.2f}",
            f"{1000 * spent:,.1f} ms",
        )  # fmt: skip
    table.add_row("exact", "none", "", f"{1000 * seconds:,.1f} ms")
    console.print(table)
    console.print("\nThe error falls like 1/√K: a tenth of it costs a hundred times the passes.")


def _recourse(console: Console, model: PTMClassifier, patient: pd.DataFrame) -> Result:
    from trust_recourse import Recourse

    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, cost="l1")
    result, seconds = page.timed(partial(recourse.find, patient.iloc[0], CONFIDENCES))
    page.chapter(console, "7  What would have to be different")
    console.print(
        f"The model {'refuses' if result.refused else 'accepts'} the patient of chapter 5: it "
        f"gives survival {result.confidence:.1%}, and the line is at 50%. What is the least change "
        "at which it would say yes, with the confidence asked for? Age and year stay as they are, "
        "nodes may only fall, and the cost is the fall as a share of "
        f"{schema['nodes'].scale:g} nodes. The answer is about the model: it says when the model "
        "would say yes, not that fewer nodes, could one choose them, would save the patient."
    )
    table = page.table("asked for", "nodes", "confidence", "cost", "what is proved")
    table.columns[-1].justify = "left"
    for target, status in result.status.items():
        cells = _cells(_option_for(result, target.confidence))
        table.add_row(f"at least {target.confidence:.0%}", *cells, PROVED[status])
    console.print(table)
    took = f"\nAll four, each with its proof, took {1000 * seconds:.0f} ms."
    console.print(" ".join([took, *_how_far(result)]))
    return result


def _how_far(result: Result) -> Iterator[str]:
    """The highest reachable confidence, and the limits without which it is higher."""
    best, lifted = result.max_confidence, result.binding()
    yield f"The highest reachable confidence is {best.most:.1%}, at {best.x['nodes']} nodes."
    if len(lifted):
        ways = (f"{row['if']}, {row['reachable']:.1%}" for row in lifted.to_dict("records"))
        yield f"With one limit lifted: {'; '.join(ways)}."
    else:
        yield "No single limit, if lifted, would change that."


def _robustness(console: Console, result: Result) -> None:
    page.chapter(console, "8  Confidence is not robustness")
    if not result.options:
        console.print("Nothing within reach is accepted, so there is nothing to disturb.")
        return
    safe = result.recourse.find(result.factual, CONFIDENCES, min_radius=ROOM)
    scale = result.recourse.schema["nodes"].scale
    console.print(
        "The cheapest answer goes no further than it must, so it sits on an edge. Would the model "
        f"still say yes just beyond it? Disturb every column by Gaussian noise of {SIGMA:.0%} of "
        f"its range ({SIGMA * scale:.1f} nodes): 'robust' is the probability of a yes. "
        "'radius' is how far every "
        "column may be off, as a share of its range, before the yes is lost, proved. Below each "
        f"answer is the cheapest one asked with min_radius={ROOM} ({ROOM * scale:.1f} nodes):"
    )
    table = page.table(
        "at least", "min_radius", "nodes", "confidence", "cost", "radius", "robust", text=2
    )
    for level in CONFIDENCES:
        if _option_for(result, level) is not None:
            table.add_row(f"{level:.0%}", "none", *_safety(result, level))
            table.add_row("", f"{ROOM}", *_safety(safe, level))
    console.print(table)


def _safety(result: Result, level: float) -> list[str]:
    """An option for a table: what it is, how far from a loss, and how likely noise keeps it."""
    from trust_recourse.io.wording import distance

    option = _option_for(result, level)
    if option is None:
        return _cells(None)
    at = result.options.index(option)
    return [*_cells(option), distance(result.quick_radius(at)), str(result.robustness(at, SIGMA))]


def _frontier(console: Console, result: Result) -> None:
    stairs = result.recourse.frontier(result.factual, resolution=None)
    page.chapter(console, "9  Every step of the way")
    console.print(
        "Each line is the least change that brings its confidence; none brings more for less."
    )
    table = page.table("nodes", "cost", "confidence", "", text=0)
    table.columns[-1].justify = "left"
    columns = (stairs[name].tolist() for name in ("nodes", "cost", "confidence"))
    for nodes, cost, confidence in zip(*columns, strict=True):
        sign, style = ("█", "dodger_blue2") if confidence >= 0.5 else ("░", "dark_orange3")
        bar = f"[{style}]{sign * round(BAR * confidence)}"
        table.add_row(f"{nodes}", f"{cost:.3f}", f"{confidence:.3f}", bar)
    console.print(table)


def _why(console: Console, recourse: Recourse) -> None:
    """The paper's own patient: two confidences above his, and what each rests on."""
    values = ", ".join(f"{name} {value}" for name, value in PAPERS_PATIENT.items())
    own, action_set = (
        recourse.confidence(PAPERS_PATIENT),
        recourse.reachable(PAPERS_PATIENT).most,
    )
    page.chapter(console, "10  Why, rule by rule")
    console.print(
        f"The paper tells of a patient with {values}. This model gives him survival {own:.1%}, "
        f"so it {'refuses' if own < 0.5 else 'does not refuse'} him; the highest confidence "
        f"that he can reach is {action_set:.1%}."
    )
    rules = recourse.model.rules()
    leading = rules[(rules["votes_for"] == 1) & ~rules["weak"]].sort_values("dominance").tail(1)
    for j, rule in leading["rule"].items():
        console.print(f"The rule that speaks most for survivors is rule {j}: [bold]{rule}[/].")
    levels = _telling_levels(recourse, [level for level in LEVELS if own < level <= action_set])
    if not levels:
        console.print("No two confidences above his own ask for different changes.")
        return
    result = recourse.find(PAPERS_PATIENT, levels)
    compared = result.compare(0, 1)
    names = (
        f"{name}: at least {level:.0%}" for name, level in zip(compared.names, levels, strict=True)
    )
    table = page.table("", *names)
    for name, *cells in compared.words().itertuples():
        table.add_row(name, *cells)
    console.print(table)
    console.print(f"\n{compared.sentence}\n")
    for tightening in result.explain(0).tightenings[:3]:
        console.print(f"  {tightening.sentence}", markup=False)
    console.print("\nThe same by rule, from the cheaper to the dearer:")
    shares = page.table("share", "fires", "rule")
    shares.columns[-1].justify, shares.columns[-1].no_wrap = "left", False
    told = compared.explanation.to_frame().head(SHOWN_RULES)
    for j, row in zip(told.index.tolist(), told.to_dict("records"), strict=True):
        fires = f"{row['before']:.2f} → {row['after']:.2f}"
        shares.add_row(f"{row['share']:+.3f}", fires, f"{j}: {row['rule']}")
    console.print(shares)


def _telling_levels(recourse: Recourse, levels: list[float]) -> list[float]:
    """The highest of these, and the one below it whose answer rests on the shakiest rules."""
    if not levels:
        return []
    result = recourse.find(PAPERS_PATIENT, levels)
    *others, top = result.options
    shakiness = {
        option.target.confidence: max(
            (each.probability for each in result.explain(at).tightenings), default=0.0
        )
        for at, option in enumerate(others)
        if option.changes != top.changes
    }
    return [max(shakiness, key=lambda level: shakiness[level]), levels[-1]] if shakiness else []


def _certificate(console: Console, result: Result, model: PTMClassifier) -> None:
    from trust_recourse.certificate import check

    level = CONFIDENCES[1]
    page.chapter(console, "11  A proof to take away")
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "proof.json"), Path(folder, "model.safetensors")
        result.certificate(level).save(paths[0])
        model.save(paths[1])
        size = paths[0].stat().st_size
        certificate, again = read(*paths)
        verdict, seconds = page.timed(partial(check, certificate, again))
    console.print(
        f"What was said of {level:.0%} need not be believed. The proof was saved as a file of "
        f"{size:,} bytes, and the model beside it; then both were read back and checked in "
        f"{1000 * seconds:.0f} ms by code that shares nothing with the search. It holds. "
        f"{verdict.status.sentence}"
    )
    console.print(said(certificate, verdict, again))
    console.print("\nYours to do: trust-recourse verify CERTIFICATE.json MODEL.safetensors")


def _black_box(
    console: Console, result: Result, X: pd.DataFrame, y: pd.Series[int], seed: int
) -> None:
    page.chapter(console, "12  Any other model")
    if find_spec("optuna") is None:
        console.print(
            "Models that cannot be searched with proof are searched by trial, with packages that "
            "are not installed here: pip install 'trust-recourse[bayes]'",
            markup=False,
        )
        return
    from sklearn.linear_model import LogisticRegression

    from trust_recourse import Recourse

    recourse = Recourse(LogisticRegression(max_iter=1000).fit(X, y), result.recourse.schema, "l1")
    ask = partial(recourse.find, engine="tpe", n_trials=TRIALS, random_state=seed)
    found, seconds = page.timed(partial(ask, result.factual, 0.7))
    console.print(
        "Logistic regression has no rules to search, so the same patient is asked about with "
        f"engine='tpe': {TRIALS} trials, {seconds:.1f} s, and nothing proved."
    )
    console.print(str(found), markup=False)


def _option_for(result: Result, level: float) -> Option | None:
    """The cheapest option for a level, if there is one."""
    return next((o for o in result.options if o.target.confidence == level), None)


def _cells(option: Option | None) -> list[str]:
    """An option for a table: its nodes, its confidence and its cost."""
    if option is None:
        return ["none", "", ""]
    return [f"{option.x['nodes']}", f"{option.confidence:.3f}", f"{option.cost:.3f}"]
