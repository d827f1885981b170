"""End-to-end tests, one folder per area; `helpers` holds what they share."""
