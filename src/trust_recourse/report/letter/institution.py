"""What all letters of an institution share, and how a letter is written from it.

A file of facts may serve every profile: a letter takes from it what its own profile asks for. A
fact may be told in several languages, by their codes: `consequences: {en: …, de: …}`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from trust_recourse.io.files import read_whole
from trust_recourse.io.wording import near, some
from trust_recourse.report.letter import Letter, letter
from trust_recourse.report.letter.profiles import (
    PROFILES,
    MissingFieldsError,
    Profile,
    date,
    names_of,
    profile_of,
)

if TYPE_CHECKING:
    from trust_recourse.answers.result import Result

NEEDED = ("organisation", "contact", "valid_until")  # by every letter
SHARED = (*NEEDED, "person", "decision")
NAMES = ("organisation", "contact", "person")  # the same in every language
OF_ONE = ("person", *(name for kind in PROFILES.values() for name in kind.of_one))  # of one letter
WAIVERS = [name for kind in PROFILES.values() for name in kind.waivers]  # of one letter each
MOST_BYTES = 1 << 20  # of a file of facts


@dataclass(frozen=True, eq=False)
class Institution:
    """Facts by their names, applicants to compare with, a list of reasons, languages."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    reference: Any = None
    reason_codes: Any = None
    catalogues: str | os.PathLike[str] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str] | None, **more: Any) -> Institution:
        """The institution of a YAML file; every fact in it is one that some profile knows."""
        if path is None:
            return cls(**more)
        try:
            facts = yaml.safe_load(read_whole(path, MOST_BYTES)) or {}
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: not YAML: {error}") from None
        if not isinstance(facts, dict):
            raise ValueError(f"{path}: expected fields, such as `address: 1 Main Street`")
        known = {*SHARED, *(name for kind in PROFILES.values() for name in names_of(kind))}
        for name in facts:
            if name not in known:
                raise ValueError(f"{path}: no profile has a field {name!r}{near(name, known)}")
        for name, told in facts.items():
            several = isinstance(told, dict) and name not in NAMES
            texts = [*told, *told.values()] if several else [told] * (name in (*NAMES, "decision"))
            if not all(isinstance(each, str) for each in texts):
                several_too = "" if name in NAMES else ", or texts by language, such as en"
                raise ValueError(f"{path}: {name}={told!r}; expected text{several_too}")
        if found := [name for name in facts if name in WAIVERS]:
            raise ValueError(
                f"{path}: {', '.join(found)}: of one person, and every letter by this file would "
                f"pass where it is refused; take it out, and say --{found[0]} with that letter"
            )
        if "valid_until" in facts:
            facts["valid_until"] = date(f"{path}: valid_until", facts["valid_until"])
        return cls(facts, **more)

    def refuse_one_person(self, path: object) -> None:
        """Refuse facts of one person where every letter would have them."""
        if found := [name for name in self.facts if name in OF_ONE]:
            raise ValueError(
                f"{path}: {', '.join(found)}: of one person, and every letter of this server would "
                "say it; take it out of the file, and give it with each letter"
            )

    def letter(
        self, result: Result, profile: str = "plain", given: Mapping[str, Any] | None = None,
        *, language: str = "en", **more: Any,
    ) -> Letter:  # fmt: skip
        """Write a letter by a profile; what is given goes before the institution's own facts.

        All that is missing is said at once; the rest is as `letter` takes it.
        """
        given = {name: value for name, value in (given or {}).items() if value not in ("", None)}
        kind = PROFILES.get(profile, Profile)
        for name in (*SHARED, *names_of(kind)):
            if name not in given and self.facts.get(name) is not None:
                given[name] = _said(name, self.facts[name], language)
        shared = {name: given.pop(name, "") for name in SHARED}
        absent = [name for name in NEEDED if shared[name] in ("", None)]
        if result.refused and kind.compares and self.reference is None:
            absent.append("reference")
        made = None
        try:
            made = profile_of(profile, given)
        except MissingFieldsError as error:
            absent += error.names
        if absent:
            raise MissingFieldsError(profile, tuple(absent))
        return letter(
            result, **{**shared, "decision": shared["decision"] or None}, profile=made,
            reference=self.reference, reason_codes=self.reason_codes, catalogues=self.catalogues,
            language=language, **more,
        )  # fmt: skip


def _said(name: str, told: Any, language: str) -> Any:
    if not isinstance(told, dict):
        return told
    if language not in told:
        raise ValueError(
            f"{name} is told in {some([*told])}, and the letter is in {language!r}; add its words "
            f"in that language, or give {name} with the letter"
        )
    return told[language]
