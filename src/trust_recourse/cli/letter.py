"""`trust-recourse letter` and `evidence`: an answer on paper, for the person and the officer."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trust_recourse.cli.command import argument, command, option, options_of
from trust_recourse.cli.exit_codes import InputError, can_be_written, pair
from trust_recourse.cli.fit import as_model_calls, learnt_from
from trust_recourse.cli.ledger_commands import Answers, Book
from trust_recourse.cli.output import say
from trust_recourse.cli.question_options import Force, TimeLimit, seconds, time_limit_met
from trust_recourse.cli.report import quiet
from trust_recourse.io.fields import fields_of
from trust_recourse.io.tables import read
from trust_recourse.report.letter.letter_request import LetterRequest, Method

if TYPE_CHECKING:
    from trust_recourse import Letter, Result, Schema
    from trust_recourse.ledger import Promise
    from trust_recourse.report import ModelReport
    from trust_recourse.report.letter.institution import Institution

ASKED = fields_of(LetterRequest)
ENDINGS = (".pdf", ".html", ".txt")
FIELD = ("NAME=VALUE", "received=2026-11-02")
FRONTIER = 10.0  # seconds for the frontier of an evidence report, at most

Model = Annotated[Path, argument("Written by `fit` or `import`.", "MODEL.safetensors")]
Out = Annotated[
    Path, option("The file to write: .pdf, .html or .txt, by its ending.", None, "--out", "-o")
]


@dataclass(frozen=True, kw_only=True)
class InstitutionOptions:
    """What all letters of an institution share, as given on the line."""

    fields: Annotated[
        Path | None, option("What all letters share, and what the profile needs.", "FILE.yaml")
    ] = None
    reference: Annotated[
        Path | None, option("Other applicants, with whom letters compare the person.", "ROWS")
    ] = None
    reason_codes: Annotated[
        Path | None, option("Your own list of reasons, for letters.", "FILE.yaml|FILE.csv")
    ] = None
    catalogues: Annotated[
        Path | None, option("A folder with languages of your own, CODE.po.", "FOLDER")
    ] = None

    def institution(self, schema: Schema) -> Institution:
        """The institution that writes, about people of this schema."""
        from trust_recourse.report.letter.institution import Institution
        from trust_recourse.report.letter.reason_codes import ReasonCodes

        rows, codes = self.reference, self.reason_codes
        return Institution.read(
            self.fields, catalogues=self.catalogues,
            reference=None if rows is None else read(rows).read_by(schema),
            reason_codes=None if codes is None else ReasonCodes.read(codes, schema),
        )  # fmt: skip


@options_of(LetterRequest, *(name for name in ASKED if name != "fields"))
class LetterOptions(InstitutionOptions):
    """What is asked of a letter, as given on the line."""

    field: Annotated[list[str] | None, option("One of these fields. Repeatable.", "NAME=VALUE")] = (
        None
    )

    @property
    def request(self) -> LetterRequest:
        """What is asked of the letter; days that are none are refused, before any work."""
        from trust_recourse.report.letter.profiles import date

        given = {name: getattr(self, name) for name in ASKED}
        typed = (pair("--field", each, *FIELD) for each in self.field or ())
        given |= {"fields": {name.strip(): value.strip() for name, value in typed}}
        given |= {"protected_reviewed": tuple(given["protected_reviewed"] or ())}
        for name in ("valid_until", "dated"):
            flag, text = ASKED[name].flag, given[name]
            try:
                _ = text and date(flag, text)
            except ValueError:
                raise InputError(
                    f"{flag} {text!r}: expected a day as year, month and day, such as 2099-01-31"
                ) from None
        return LetterRequest(**given)


@command()
def letter(
    model: Model,
    result: Answers,
    out: Out,
    asked: LetterOptions,
    ledger: Annotated[
        str | None,
        option("Record the letter and what was reviewed there, under --promise.", "FILE|URL"),
    ] = None,
    key_file: Annotated[Path | None, option("The ledger's key; else TRUST_LEDGER_KEY.")] = None,
    time_limit: TimeLimit = None,
    force: Force = False,
) -> None:
    """Write to a person what the model decided, why, and what would change its answer.

    Plain language, from answers that `find --save result.json` wrote. Every number is computed
    anew from the model. A PDF needs the extra `pdf`.

    **Profiles.** `plain` needs --organisation, --contact and --valid-until, and is one page. `us`
    is a notice of adverse action (Regulation B and the Fair Credit Reporting Act); it needs
    --reference, and the fields address, agency, received (a day), consumer_report (yes or no); with
    yes also bureau, bureau_address, bureau_telephone and score (or none); with a score also
    score_low, score_high, score_date, score_factors (between semicolons). `eu` (GDPR, AI Act) needs
    --reference, and the fields address, role (decides or advises), consequences, review, dpo (or
    none), authority, sources (or none: it does not say). What is missing is named in one sentence,
    and no letter is written. A file of --fields may hold organisation, contact, valid_until and
    decision, too, and what other profiles need; `serve` takes the same file.

    **Reasons.** `just-passed`: by which values the person falls short of the 100 accepted rows of
    --reference nearest to the threshold; `all-applicants`: of all its rows; `nearest-yes`, if there
    is no --reference: of what the first offer would make of them, so what may not change is never
    among them. How far the confidence of those 100 reaches is said beside. The list of
    --reason-codes has the columns feature, when (low, high, missing, a value, or nothing for any),
    code, text.

    Where a protected feature would be among the reasons, no letter is written until it is named by
    --protected-reviewed, with --reviewed-by; so it is of every one that the model uses, if there is
    no --reference. The letter then says that it was reviewed, and so does
    the --ledger, with that name. In the profile `us` a column that tells by its name, label or
    values what the law protects, such as age, counts as protected, marked in the schema or not; in
    every profile so does a column that follows from a protected one.

    **Time.** Where no option of the answers is accepted, the letter searches for one, for
    --time-limit at most. The command says so if the limit ends the search.

    **Promises.** Under the --promise of a --ledger the letter offers that option alone, and it is
    recorded there.

    It ends with 2 if something given is not there or not what it should be.

    Examples: `trust-recourse letter model.safetensors result.json --out letter.pdf --organisation
    "Meadow Bank" --contact "Ann Lee, 555 0100" --valid-until 2027-01-31`, `trust-recourse letter
    model.safetensors result.json --out notice.pdf --profile us --fields bank.yaml --field
    received=2026-11-02 --reference applicants.csv --language de`
    """
    from trust_recourse import ProtectedReasonError
    from trust_recourse.report.letter import UnsignedReviewError
    from trust_recourse.report.letter.profiles import LateLetterError, MissingFieldsError

    request = asked.request
    promise, language = request.promise, request.language
    if ledger and not promise:
        raise ValueError("--ledger records a letter under its promise; give --promise ID too")
    if promise and not ledger:
        raise ValueError(
            f"--promise {promise}: whether there is such a promise, and of what, the ledger knows; "
            "give --ledger too"
        )
    limit = seconds(time_limit)
    book = Book(ledger, key_file) if ledger else None
    kept = _kept(book, promise) if book is not None else None
    answers = _answers(model, result, out, force)
    schema = answers.recourse.schema
    house = asked.institution(schema)
    try:
        written = request.written(house, answers, promise=kept, time_limit=limit)
    except ProtectedReasonError as error:
        named = shlex.join(f"--protected-reviewed={name}" for name in error.names)
        raise ValueError(f"{error.sentence}: {named}") from None
    except UnsignedReviewError as error:
        raise ValueError(f"{error.sentence}; give --reviewed-by NAME") from None
    except LateLetterError as error:
        raise ValueError(f"{error.sentence}: --late") from None
    except MissingFieldsError as error:
        rows = ", and rows by --reference" if "reference" in error.names else ""
        how = f"give fields by --field NAME=VALUE, or in a file by --fields{rows}"
        raise ValueError(f"{error}; {how}") from None
    if untold := written.document.language.untold(schema):
        say(
            f"Not in the language {language}, so as the schema has them: {', '.join(untold)}. "
            f"A file {language}.po in --catalogues may have words for them.", err=True,
        )  # fmt: skip
    if kept is not None:
        from trust_recourse.ledger.letters import checked

        checked(written, kept)
        if (more := len(answers.options) - 1) > 0:
            others = "the other option" if more == 1 else f"the {more} other options"
            say(f"The letter offers what promise {promise} holds, and not {others}.", err=True)
    written.save(out)
    say(f"Written: {out}")
    if book is not None:
        _record(book, promise, written, out)
    if written.search_limit is not None:
        met = time_limit_met(written.search_limit, "search for an accepted option")
        say(f"The {met}.", err=True)
    if written.shortfall is not None:
        say(f"Compared with {written.shortfall.words}.", err=True)
    if not written.accepted and written.method == "nearest-yes":
        say(
            "The reasons are among what can change: whether anything else counts more shows beside "
            "other applicants (--reference ROWS).", err=True,
        )  # fmt: skip
    for name in () if book is not None else written.protected_reviewed:
        say(f"That {name} was reviewed stands in the letter; no ledger has it.", err=True)
    for doubt in written.doubts:
        say(doubt, err=True)
    for name in written.reviewed_beside:
        say(f"{name} is not among the reasons: the letter does not name it.", err=True)


def _kept(book: Book, promise: str) -> Promise:
    """The promise of which a letter is to be written and recorded."""
    from trust_recourse.ledger.pseudonyms import Key

    Key.given(None, book.key_file)  # or a letter would be written, and not recorded
    with book.opened() as opened:
        return opened.read(promise)


def _record(book: Book, promise: str, written: Letter, out: Path) -> None:
    """Keep in the ledger what a letter says, and the hash of its file; else there is no letter."""
    try:
        with book.opened() as opened:
            opened.record_letter(promise, written.record(), file=out)
    except Exception:
        out.unlink()
        raise


@command()
def evidence(
    model: Model,
    result: Answers,
    out: Out,
    organisation: Annotated[str, option("Whose evidence report it is.")] = "",
    verify: Annotated[bool, option("Check the proofs, too.")] = False,
    certificates: Annotated[bool, option("Make the proof of each answer.")] = True,
    pictures: Annotated[bool, option("Draw, if the extra `plot` is there.")] = True,
    proofs: Annotated[
        Path | None, option("Write each proof there, for `verify`.", "FOLDER")
    ] = None,
    data: Annotated[
        Path | None, option("Rows to judge the model on, as `report` does.", "FILE")
    ] = None,
    target: Annotated[str | None, option("The column of --data to predict.", "COLUMN")] = None,
    reference: Annotated[
        Path | None, option("Other applicants, as `letter` compares the person with.", "ROWS")
    ] = None,
    reasons: Annotated[Method | None, option("How reasons are found, as for `letter`.")] = None,
    time_limit: TimeLimit = None,
    force: Force = False,
) -> None:
    """Set down all that is known of an answer, for whoever answers for the model.

    Model, schema, rules or trees, options with their proofs, attribution, fragility, what is not
    proved. The proofs are searched for anew, each for --time-limit at most; where that is not
    enough, the report has no proof and says so. The frontier gets at most 10 s. With --data and
    --target it holds how honest the model's confidence is, as `report` judges it. With the
    --reference of a letter it has the letter's reasons, and how far those applicants reach.

    It ends with 1 if a proof is refused (the report says why), and with 2 if something given is not
    there or not what it should be.

    Example: `trust-recourse evidence model.safetensors result.json --out evidence.pdf --verify
    --proofs proofs --data patients.csv --target survived`
    """
    from trust_recourse import evidence as write
    from trust_recourse.report.evidence import REFUSED

    limit = seconds(time_limit)
    answers = _answers(model, result, out, force)
    if proofs and not certificates:
        raise ValueError("--proofs with --no-certificates: no proof is made then; leave one out")
    if proofs:
        proofs.mkdir(parents=True, exist_ok=True)
        for asked in answers.status:
            can_be_written(proofs / f"proof-{asked.confidence}.json", force=force)
    written = write(
        answers, organisation=organisation, verify=verify, certificates=certificates,
        pictures=pictures, report=_judged(answers, model, data, target), reasons=reasons,
        proof_limit=limit, time_limit=min(limit or FRONTIER, FRONTIER),
        reference=reference and read(reference).read_by(answers.recourse.schema),
    )  # fmt: skip
    if proofs:
        for asked, proof in written.certificates.items():
            proof.save(proofs / f"proof-{asked.confidence}.json")
    written.save(out)
    say(f"Written: {out}")
    for asked in written.late:
        met = time_limit_met(limit or 0.0, "search for the proof")
        say(f"{asked.words}: no proof. The {met}.", err=True)
    if any(verdict.startswith(REFUSED) for verdict in written.verdicts.values()):
        say("A proof was refused: see the certificates in it.", err=True)
        raise typer.Exit(1)


def _judged(
    answers: Result, model: Path, data: Path | None, target: str | None
) -> ModelReport | None:
    """The report on a model's settings, if there are rows to judge them on."""
    if data is None or target is None:
        if (data, target) != (None, None):
            raise ValueError("given only one of --data and --target; expected both, or neither")
        return None
    from trust_recourse import load, model_report

    fitted = load(model)
    rows, labels, schema = learnt_from(read(data), target, fitted.schema_, [])
    asked = answers.recourse
    labels = as_model_calls(labels, fitted, target, asked.wanted)
    return model_report(
        quiet(fitted), rows, labels, wanted=asked.wanted, schema=schema,
        decision_threshold=asked.decision_threshold,
    )  # fmt: skip


def _answers(model: Path, result: Path, out: Path, force: bool) -> Result:
    """The answers in a file, where a document of them may be written."""
    from trust_recourse import Recourse, load

    if out.suffix.lower() not in ENDINGS:  # before any work
        raise ValueError(f"{out}: expected a name that ends in {', '.join(ENDINGS)}")
    can_be_written(out, model, result, force=force)
    return Recourse.read(result, load(model))
