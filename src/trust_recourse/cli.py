"""The command line.

Nothing heavy is imported before a command runs, so that `--help` answers at once. The demo is one
function a chapter; every number it prints is computed as it runs.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from trust_recourse import __version__

if TYPE_CHECKING:
    import pandas as pd

    from trust_recourse import PTMClassifier

Answer = TypeVar("Answer")

WIDEST = 100
SHOWN_RULES = 5
BAR = 40  # characters of the histogram's longest bar
LEAST_CHANCE = 0.005  # rarer votes are left out of the histogram
PROVED = {
    "optimal": "nothing cheaper does",
    "infeasible": "out of reach",
    "already_met": "met already",
}
CONFIDENCES = (0.5, 0.7, 0.85, 0.95)
PASSES = (50, 500, 5000)
COMPARED = 30  # patients in the comparison with Monte Carlo, which takes a second or two
OUTCOMES = ("died", "survived")
COLUMNS = {
    "age": "age at the operation, in years",
    "year": "year of the operation, less 1900",
    "nodes": "lymph nodes found to hold cancer",
}
SOURCE = (
    "Data (CC BY 4.0; columns renamed, outcome recoded): S. J. Haberman, 1976, UCI Machine "
    "Learning Repository, https://doi.org/10.24432/C5XK51"
)

app = typer.Typer(
    help="The least a refused person must change to be accepted with a confidence they name.\n\n"
    "Begin with a short story, told by a small model about real patients: "
    "`trust-recourse demo`",
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"trust-recourse {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all chance.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Readings of the data while learning.")] = 60,
) -> None:
    """Let a Probabilistic Tsetlin Machine learn from Haberman's patients, and question it.

    How good it is beside logistic regression, the rules it learnt, one patient it is unsure
    about, and what exact probabilities save. It takes a few seconds and writes nothing.

    Example: `trust-recourse demo --seed 7 --epochs 20`
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks ≤ shows ?, not an error
    console = Console(highlight=False)
    console.width = min(console.width, WIDEST)
    with console.status("Starting. The first time ever this compiles for a while."):
        X, y = _warm_start()
    _patients(console, X, y)
    model = _learnt(console, X, y, seed, epochs)
    _honesty(console, model, X, y, seed)
    _rules(console, model, X, y)
    patient = _one_patient(console, model, X, y)
    _exactness(console, model, X, seed)
    _recourse(console, model, patient)
    console.print("\nAll of this is about the model, not about the world. Read on in README.md.")


def _warm_start() -> tuple[pd.DataFrame, pd.Series[int]]:
    """Load the patients and compile all that is timed later."""
    from trust_recourse import PTMClassifier, haberman

    X, y = haberman()
    model = PTMClassifier(epochs=1, random_state=0).fit(X, y)
    model.predict_proba(X.head(1))
    model.predict_proba_mc(X.head(1), n_passes=1, random_state=0)
    return X, y


# ------------------------------------------------------------------ the chapters


def _patients(console: Console, X: pd.DataFrame, y: pd.Series[int]) -> None:
    _chapter(console, "1  The patients")
    console.print(
        f"{len(X)} people were operated on for breast cancer in Chicago between "
        f"{1900 + X['year'].min()} and {1900 + X['year'].max()}. {y.sum()} of them "
        f"({y.mean():.1%}) survived five years or longer. Known of each:"
    )
    table = _table("column", "meaning", "from", "to", "median", text=2)
    for name, meaning in COLUMNS.items():
        low, high, middle = X[name].min(), X[name].max(), X[name].median()
        table.add_row(name, meaning, f"{low}", f"{high}", f"{middle:g}")
    console.print(table)
    console.print(f"\n[dim]{SOURCE}")


def _learnt(
    console: Console, X: pd.DataFrame, y: pd.Series[int], seed: int, epochs: int
) -> PTMClassifier:
    from trust_recourse import PTMClassifier

    model = PTMClassifier(epochs=epochs, random_state=seed, verbose=True)
    _chapter(console, "2  The model")
    console.print(
        f"A Probabilistic Tsetlin Machine is a committee of rules, here {model.n_clauses}. Half "
        f"can vote '{OUTCOMES[1]}', half '{OUTCOMES[0]}'. Each condition belongs to its rule only "
        "with some probability, so whether a rule applies to a patient is a probability too."
    )
    _, seconds = _timed(partial(model.fit, X, y))
    console.print(f"It read all {len(X)} patients {epochs} times in {seconds:.2f} seconds.")
    model.set_params(verbose=False)
    return model


def _honesty(
    console: Console, model: PTMClassifier, X: pd.DataFrame, y: pd.Series[int], seed: int
) -> None:
    from trust_recourse import model_report

    _chapter(console, "3  How good is it, and how honest?")
    with console.status("Learning again, each time without the patients to be judged."):
        report = model_report(model, X, y, random_state=seed)
    console.print(
        f"Judged on patients kept out of learning, in {report.folds} turns (mean ± spread):"
    )
    summary = report.summary()
    table = _table("", *summary.columns)
    for name in summary.index:
        table.add_row(name, *summary.loc[name])
    console.print(table)
    fullest = report.reliability.loc[[type(model).__name__]].nlargest(1, "count").iloc[0]
    console.print(
        f"\nAccuracy: the share judged rightly ('{OUTCOMES[1]}' for everyone: {y.mean():.3f}). "
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
    _chapter(console, "4  What it learnt")
    weak = f"{rules['weak'].sum()} of the {len(rules)} rules are weak: no column alone halves their"
    if clear.empty:
        console.print(f"{weak} chance to apply. More epochs would make some clearer.")
        return
    console.print(
        f"{weak} chance to apply. The others that best tell the two groups apart, how often they "
        "apply to each, and the difference (dominance, in points):"
    )
    table = _table("rule", "votes for", "to survivors", "to the others", "dominance", text=2)
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
    _chapter(console, "5  One patient")
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
    exact, seconds = _timed(partial(model.predict_proba, some))
    _chapter(console, "6  Exact, not sampled")
    console.print(
        "The paper draws the conditions at random, K times over, and averages. Here the mean over "
        f"all draws is computed. For the {len(some)} patients of lowest confidence:"
    )
    table = _table("way", "largest error", "error × √K", "time")
    for passes in PASSES:
        drawn, spent = _timed(partial(model.predict_proba_mc, some, passes, seed))
        error = abs(drawn - exact).max()
        table.add_row(
            f"K = {passes:,} passes", f"{error:.4f}", f"{error * math.sqrt(passes):.2f}",
            f"{1000 * spent:,.1f} ms",
        )  # fmt: skip
    table.add_row("exact", "none", "", f"{1000 * seconds:,.1f} ms")
    console.print(table)
    console.print("\nThe error falls like 1/√K: a tenth of it costs a hundred times the passes.")


def _recourse(console: Console, model: PTMClassifier, patient: pd.DataFrame) -> None:
    from trust_recourse import Recourse

    schema = model.schema_.lock("age", "year").update("nodes", direction="decrease")
    recourse = Recourse(model, schema, cost="l1")
    result, seconds = _timed(partial(recourse.find, patient.iloc[0], CONFIDENCES))
    _chapter(console, "7  What would have to be different")
    console.print(
        "The least change at which the model would say yes to the patient of chapter 5, with the "
        "confidence asked for. Age and year stay as they are, nodes may only fall; the cost is "
        f"the change as a share of {schema['nodes'].scale:g} nodes."
    )
    table = _table("asked for", "nodes", "confidence", "cost", "what is proved", text=1)
    for target, status in result.status.items():
        found = [o for o in result.options if o.target == target]
        row = [f"{o.x['nodes']}|{o.confidence:.3f}|{o.cost:.3f}" for o in found] or ["|none|"]
        table.add_row(f"at least {target.confidence:.0%}", *row[0].split("|"), PROVED[status])
    console.print(table)
    furthest = recourse.reachable(patient.iloc[0])
    console.print(
        f"\nNo allowed change brings more than {furthest.confidence:.1%}. Each line is proved, by "
        f"ruling out everything cheaper; all of them took {1000 * seconds:.0f} ms."
    )


# ------------------------------------------------------------------ the page


def _chapter(console: Console, title: str) -> None:
    console.print()
    console.rule(f"[bold]{title}", align="left", style="dim")


def _table(*columns: str, text: int = 1) -> Table:
    """Make an empty table; its first columns hold text, the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at < text else "right", no_wrap=True)
    return table


def _timed(action: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    return action(), time.perf_counter() - start
