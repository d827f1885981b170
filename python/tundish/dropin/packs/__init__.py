"""Packs beside the files of a dataset: found and verified, or made in the background."""
