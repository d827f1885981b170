"""Searches for the best variant: paired times, gates, confirmation."""
