"""Results of a tuning run as rows, terminal text and HTML page."""
