"""Models that are sums of small terms."""

from __future__ import annotations

from trust_recourse.sums.additive import Additive

__all__ = ["Additive"]
