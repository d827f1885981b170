"""Tries every known training trick on the user's own model and keeps what pays."""
