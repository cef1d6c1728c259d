"""The service and the page: see `desk` for what both work with."""
