"""`tundish check` and `tundish.check`: lints files and reports findings as text, JSON or SARIF."""
