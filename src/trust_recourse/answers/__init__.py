"""The front door: `Recourse` asks, a `Result` answers and can be measured, explained and drawn."""
