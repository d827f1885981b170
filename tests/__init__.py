"""End-to-end tests, one folder per area; `helpers` holds the shared code."""
