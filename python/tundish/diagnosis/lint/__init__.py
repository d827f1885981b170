"""`tundish check` and `tundish.check`: files in, findings out as text, JSON or SARIF."""
