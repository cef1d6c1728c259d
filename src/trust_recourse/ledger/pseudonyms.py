"""The ledger's key, and who a promise was made to, without their name: a keyed hash of an id.

Without the key nobody can tell whose promise it is, nor try out all ids there are, nor seal what
the ledger holds. The key is never stored; whoever loses it can no longer find a person's promises
by their id.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field

from trust_recourse.io.files import read_secret
from trust_recourse.ledger.entries import LedgerError

VARIABLE = "TRUST_LEDGER_KEY"
LEAST_BYTES = 16


@dataclass(frozen=True)
class Key:
    """The secret that turns ids into pseudonyms, and seals a ledger.

    >>> key = Key(b"an example, never use it")
    >>> key.pseudonym("customer 4711") == key.pseudonym("customer 4711")
    True
    >>> key  # the secret is not shown
    Key(name='4c11c39d9ac10c45')
    """

    secret: bytes = field(repr=False)
    name: str = field(init=False)  # tells one key from another, and nothing else about it

    def __post_init__(self) -> None:
        if len(self.secret) < LEAST_BYTES:
            raise LedgerError(
                f"the key has {len(self.secret)} bytes; expected at least {LEAST_BYTES} that "
                'nobody can guess, such as python -c "import secrets; print(secrets.token_hex())"'
            )
        object.__setattr__(self, "name", self._hash("trust-recourse: the name of this key")[:16])

    def pseudonym(self, subject: str) -> str:
        """The same for the same id and key, and no way back: HMAC-SHA256."""
        if not isinstance(subject, str) or not subject:
            raise LedgerError(f"subject={subject!r}; expected the person's id as text, not empty")
        return self._hash(f"subject {subject}")

    def seal(self, text: str) -> str:
        """What only this key makes of a text; no subject's pseudonym is ever the same."""
        return self._hash(f"seal {text}")

    def _hash(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    @classmethod
    def given(cls, key: str | bytes | None, key_file: str | os.PathLike[str] | None) -> Key:
        """The key from an argument, else from a file, else from the environment."""
        found = cls.found(key, key_file)
        if found is None:
            raise LedgerError(
                "people are stored as keyed hashes and the ledger is sealed with the same key, and "
                "there is no key: give a file with it (--key-file, key_file), or set "
                f"{VARIABLE} in the environment. A new one is made by: (umask 077; head -c 32 "
                "/dev/urandom | base64 > ledger.key)"
            )
        return found

    @classmethod
    def found(cls, key: str | bytes | None, key_file: str | os.PathLike[str] | None) -> Key | None:
        """The same, or None where there is none."""
        if key is not None:
            return cls(key.encode() if isinstance(key, str) else key)
        if key_file is not None:
            try:
                secret = read_secret(key_file)
            except OSError as error:
                raise LedgerError(f"key file {key_file}: {error.strerror}") from None
            except ValueError as error:
                raise LedgerError(str(error)) from None
            return cls(secret)
        return cls(os.environ[VARIABLE].encode()) if VARIABLE in os.environ else None
