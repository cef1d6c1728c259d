"""An answer as text: what is known of it in sentences, for terminals, notebooks and the page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING, Any

from trust_recourse.io import markup
from trust_recourse.io.wording import ceiled, level, significant
from trust_recourse.question import Option, Status, Target, option_name

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result

NAMED = 3  # features that a line about them names
OTHER = "the cheapest that leaves alone at least half of what each cheaper way changes"


def verdict(result: Result) -> str:
    """What the model says of the person as they are, in a few words."""
    said = "refused" if result.refused else "accepted"
    own = result.formatted(result.confidence)
    return f"{said}: {result.recourse.read_model.outcome.told(own)}{standing(result)}"


def standing(result: Result) -> str:
    """By mode "argmax", whether the class has the most now, to end a sentence with; else ''."""
    if result.decision.mode != "argmax":
        return ""
    return "; another class has more" if result.refused else ", the most of any class"


def refusal(result: Result, option: int = 0) -> str:
    """Why the model still refuses an option, in a few words; "" if it accepts the option."""
    if result.accepted(option):
        return ""
    if result.decision.mode == "argmax":
        return "still refused: another class has more"
    return f"still refused: below the decision threshold {level(result.decision.confidence)}"


def words(result: Result, option: Option) -> str:
    """The changes of an option, in the person's own units."""
    return "; ".join(
        f"{result.recourse.schema[name].heading} {arrow(result, name, change)}"
        for name, change in option.changes.items()
    )


def arrow(result: Result, name: str, change: tuple[Any, Any]) -> str:
    """A change of one feature as text: from its value to the new one."""
    return " → ".join(result.recourse.schema.describe(name, value) for value in change)


def reach(result: Result, target: Target | None = None) -> str:
    """The highest reachable confidence as text, with its changes and what each is worth.

    Where a limit ended the search, the text has two bounds: at least and at most so much.
    """
    found = result.max_confidence
    most, then = (result.formatted(each, target) for each in (found.most, found.confidence))
    least = most if found.proved else f"at least {most}, at most {ceiled(found.ceiling)}"
    moves = "; ".join(
        f"{result.recourse.schema[name].heading} {arrow(result, name, change)}"
        + (f" (worth {found.worth[name]:.2f})" if name in found.worth else "")
        for name, change in found.changes.items()
    )
    if not moves:
        return f"{least}: no change"
    return f"{least}: {moves}" if then == most else f"{least}; {then} of it by {moves}"


def range_words(result: Result, option: int = 0) -> dict[str, str]:
    """The ranges of an option in words, by feature."""
    rows = result.ranges(option).itertuples(index=False)
    schema, actions = result.recourse.schema, result.recourse.schema.action_set(result.factual)
    return {name: schema[name].span(low, high, actions[name]) for name, low, high in rows}


def sentence(result: Result, option: int = 0) -> str:
    """What is known of an option, given by its place in `options`, as a clerk could say it."""
    asked = result.option_at(option)
    if asked.target in result.survival:
        return _retrained(result, asked)
    own = [o for o in result.options if o.target == asked.target]
    before = own[: own.index(asked)]
    if before and result.engine == "exact":
        name = option_name(result.options.index(own[0])).capitalize()
        most = " of the fewest changes" if asked.target in result.fewest else ""
        least = f" {name} is the cheapest{most}." if own[0].status is Status.OPTIMAL else ""
        proved = asked.status is Status.OPTIMAL
        few = ""
        if asked.target in result.fewest:
            few = f" and changes at most {result.fewest[asked.target].most}"
        return f"Another way{f': {OTHER}{few}' * proved}.{least}"
    if asked.target in result.fewest:
        return _of_few(result, asked)
    if asked.status is Status.FEASIBLE and result.engine == "exact":
        lowest = significant(asked.lower_bound, to=ROUND_FLOOR)
        least = f"Nothing that costs less than {lowest} reaches it."
        return f"{asked.status.sentence} {least}"
    return asked.status.sentence


def _of_few(result: Result, option: Option) -> str:
    """What is known of an answer of the fewest changes: of their number, then of the cost."""
    known = result.fewest[option.target]
    number = f"Fewer than {known.least} changed features are not enough."
    if known.least <= 1:
        number = "One changed feature is enough." * known.proved
    if not known.proved:
        open_ = f"That fewer than {known.most} changed features are enough was not ruled out."
        return f"{number} {open_}".strip()
    such = f"answers that change {known.most}"
    if option.status is Status.OPTIMAL:
        return f"{number} Of the {such}, this is the cheapest. Both are proved."
    open_ = f"{number} That is proved. Of the {such}, a cheaper one was not ruled out."
    least = f" No such answer costs less than {significant(option.lower_bound, to=ROUND_FLOOR)}."
    return open_ + least * (option.lower_bound > 0)


def _retrained(result: Result, option: Option) -> str:
    """What is known of an answer that was asked to last."""
    told, known = result.survival[option.target], option.status.sentence
    if option.status is Status.OPTIMAL and not math.isinf(told.threshold):
        known = (
            "This is the cheapest allowed change for which the mean score of the models "
            f"searched against is as high as it takes (log-odds {told.threshold:.2f})."
        )
    return f"{known} {told.words[0].upper()}{told.words[1:]}."


def status_sentences(result: Result, target: Target) -> list[str]:
    """What is known for a target, in sentences: one for each option where there are several."""
    own = [at for at, option in enumerate(result.options) if option.target == target]
    if target in result.survival and not own:
        none = "No change was found that lasts, and that one exists was not ruled out"
        return [f"{none}; of the surest that was found, {result.survival[target].words}."]
    if len(own) > 1:
        return [f"{option_name(at).capitalize()}: {sentence(result, at)}" for at in own]
    return [sentence(result, own[0]) if own else result.status[target].sentence]


def target_sentence(result: Result, target: Target) -> str:
    """What is known for a target in one sentence, whatever its options are."""
    if target in result.survival:
        return status_sentences(result, target)[0]
    return result.status[target].sentence


def badge(result: Result, option: int = 0) -> str:
    """What is known of an option in a word or two, such as `proved cheapest`."""
    asked = result.option_at(option)
    first = next(o for o in result.options if o.target == asked.target)
    if asked is not first and result.engine == "exact":
        return "another way"
    if asked.status is Status.OPTIMAL:
        return "fewest changes, proved" if asked.target in result.fewest else "proved cheapest"
    if asked.status is Status.ALREADY_MET:
        return "nothing to change"
    if result.engine != "exact":
        return "found by trial"
    if asked.target in result.fewest and not result.fewest[asked.target].proved:
        return "fewer not ruled out"
    return f"within {asked.gap / asked.cost if asked.cost else 0.0:.1%} of the least"


def lines(result: Result) -> Iterable[str]:
    """The lines that a terminal shows."""
    yield verdict(result)
    for target, status in result.status.items():
        asked = (
            f"{target.words}, {result.extra_constraints}"
            if result.extra_constraints
            else target.words
        )
        yield f"{asked}: {status_sentences(result, target)[0]}"
        for at, option in enumerate(result.options):
            if option.target == target and option.changes:
                confidence = result.formatted(option.confidence, target)
                cost = f"{result.recourse.cost.words} cost {significant(option.cost)}"
                numbers = ", ".join(
                    filter(None, (cost, f"confidence {confidence}", refusal(result, at)))
                )
                yield f"    {option_name(at)}: {words(result, option)}  ({numbers})"
        if target in result.ended_by:
            limit = result.ended_by[target]
            given = getattr(result.question, limit)
            yield f"    {limit}={given:g} ended the search; a larger one searches longer"
        if status is Status.INFEASIBLE and target.mode == "at_least":
            yield "    result.max_confidence searches for the highest reachable confidence,"
            yield "    result.binding() for the constraint whose relaxation would help most"
    schema = result.recourse.schema
    stepped = [schema[name] for name in result.recourse.stepped if schema[name].movable]
    if stepped:
        told = [f"{f.title} by {f.amount(f.step or 0.0)}" for f in stepped[:NAMED]]
        more = f" and {len(stepped) - NAMED} more" if len(stepped) > NAMED else ""
        each = ", ".join(told) + more
        yield f"in steps of 1/10,000 of the scale, as the schema has none: {each}"
    if result.note:
        yield f"note: {result.note}"


def html(result: Result) -> str:
    """What a notebook shows."""
    level = None if result.decision.mode == "argmax" else result.decision.confidence
    said = [each.strip() for each in lines(result) if each[0] != " "]
    cards = "".join(_card(result, at) for at in range(len(result.options)))
    return markup.shown(
        markup.line(said[0], strong=True),
        markup.meter(result.confidence, level),
        *map(markup.line, said[1:]),
        f'<div class="cards">{cards}</div>',
    )


def _card(result: Result, at: int) -> str:
    option, schema = result.options[at], result.recourse.schema
    changes = (
        (schema[name].heading, schema.describe(name, old), schema.describe(name, new))
        for name, (old, new) in option.changes.items()
    )
    facts = (
        ("asked for", option.target.words),
        ("confidence", result.formatted(option.confidence, option.target)),
        (f"cost ({result.recourse.cost.words})", significant(option.cost)),
        *((("decision", why),) if (why := refusal(result, at)) else ()),
    )
    return markup.card(
        option_name(at).capitalize(), badge(result, at), changes, facts, sentence(result, at),
        proved=option.status in (Status.OPTIMAL, Status.ALREADY_MET),
    )  # fmt: skip
