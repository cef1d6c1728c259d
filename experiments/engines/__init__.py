"""Search engines to compare with: each is passed to `Recourse.find(engine=...)`."""
