"""Command-line support for verbs (subcommands of `tundish`) in Python: options, help, errors, colors and JSON.

The module of a verb has one `Arguments` object and a function `main(argv)` that calls `run_verb`.
"""
