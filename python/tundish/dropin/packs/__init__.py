"""Packs beside the files of a data set: found, verified, or made in the background."""
