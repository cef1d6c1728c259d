"""How a value that counts against a person stands beside those of others, in words."""

from __future__ import annotations

from trust_recourse.io.wording import in_few_digits
from trust_recourse.report.language import Language
from trust_recourse.report.letter.reasons import Reason


def beside(reason: Reason, own: object, rows: int, language: Language) -> str:
    """What to say of a reason where no other value is usual among the `rows` compared with.

    That the person's is usual too, if it is, and how many have another that counts against them.
    """
    if reason.usual is None or reason.side == "missing":
        return ""
    told = _apart(reason, rows, language)
    usual = in_few_digits(reason.usual) == in_few_digits(own)
    return f"{language.gettext('This is usual among them.')} {told}" if usual else told


def _apart(reason: Reason, rows: int, language: Language) -> str:
    """Which of theirs count against the person."""
    feature, apart = reason.feature, reason.apart
    if not apart.rows:
        return language.gettext("It counts against you together with your other values.")
    if apart.value is not None:
        value = language.said(feature, in_few_digits(apart.value))
    elif reason.side == "low":
        value = language.gettext("a higher value")
    else:
        value = language.gettext("a lower value")
    num, every = (language.number(str(many)) for many in (apart.rows, rows))
    return language.ngettext(
        "It counts against you that %(num)s of %(rows)s has %(value)s.",
        "It counts against you that %(num)s of %(rows)s have %(value)s.",
        apart.rows, num=num, rows=every, value=value,
    )  # fmt: skip
