"""The linter behind `tundish check` and `tundish.check`. Reports findings as text, JSON or SARIF."""
