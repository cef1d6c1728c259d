"""Many people: `batch` answers everyone in a file, `audit` compares groups of them."""
