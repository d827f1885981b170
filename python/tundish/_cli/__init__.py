"""Command-line support for the verbs written in Python: options, help, errors, colors and JSON.

A verb is a module with one `Arguments` object and a `main(argv)` that calls `run_verb`.
"""
