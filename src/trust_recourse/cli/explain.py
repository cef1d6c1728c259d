"""`trust-recourse explain`: why an option works in the model, and what a dearer one buys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trust_recourse.cli import output
from trust_recourse.cli import question_options as question
from trust_recourse.cli.command import command, option
from trust_recourse.cli.exit_codes import can_be_written
from trust_recourse.cli.find import decision, what_is_known
from trust_recourse.cli.report import Out


@command()
def explain(
    person: question.PersonOptions,
    asked: question.QuestionOptions,
    option: Annotated[int, option("Which option of `find` to explain, from 1.", "K", min=1)] = 1,
    compare: Annotated[
        tuple[int, int] | None, option("Set two options beside each other instead.", "K K")
    ] = None,
    out: Out = None,
    png: Annotated[Path | None, option("Draw it; needs the extra `plot`.", "FILE.png")] = None,
    verbose: question.Verbose = False,
    force: question.Force = False,
    json: question.Json = False,
) -> None:
    r"""Tell what each change, and each rule or tree of the model, adds from a person to an option.

    The options are those of `trust-recourse find` with the same person and confidences, counted
    from 1 in its order.

    It ends with 0 when there is something to explain, with 1 if no option was found, and with 2 if
    something given is not right.

    For example:

        trust-recourse explain model.safetensors --data patients.csv --row 9

        trust-recourse explain model.safetensors --data patients.csv --row 9 \
            --confidence 0.6 --confidence 0.7 --compare 1 2 --out why.html
    """
    from trust_recourse.answers.document import AnswerDocument
    from trust_recourse.answers.measurements import how_far
    from trust_recourse.io.files import write_whole
    from trust_recourse.report.exports import explanation_figure, explanation_paper

    can_be_written(out, *person.files, force=force, document=True)
    can_be_written(png, *person.files, force=force, picture=True)
    recourse, x = person.asked()
    with output.waiting("Searching"):
        result = asked.put(recourse, x)
    console = output.console()
    if not result.options:
        far = how_far(result)
        if json:
            output.say_json(AnswerDocument.of(result, far=far).to_dict())
        else:
            what_is_known(console, result, far)
        raise typer.Exit(1)
    places = [question.place_of(result, each) for each in compare or (option,)]
    told: Any = result.explain(*places) if compare is None else result.compare(*places)
    if out is not None:
        explanation_paper(result, told).save(out)
    if png is not None:
        from trust_recourse.answers.plot.picture import png as drawn

        write_whole(png, drawn(explanation_figure(result, told)))
    if json:
        output.say_json(told.to_dict())
        return
    console.print(decision(result, person, verbose=verbose))
    if compare is None:
        console.print(str(told))
    else:
        heads = ("", *told.names)
        table = output.table(*heads, fold=range(len(heads)))
        for name, *cells in told.words().itertuples():
            table.add_row(name, *cells)
        console.print(table)
        console.print(f"\n{told.sentence}\n\n{told.explanation}")
    output.wrote(out, png)
