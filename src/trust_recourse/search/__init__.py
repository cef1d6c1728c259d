"""Ways to search for the cheapest change: one engine a file."""
