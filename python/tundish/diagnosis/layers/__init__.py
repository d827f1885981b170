"""What is said of a model's layers: against the machine's roof, as text, as a chart and table, and `tundish.layers`."""
