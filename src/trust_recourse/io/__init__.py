"""Files, tables, text and processes: what every other package stands on."""
