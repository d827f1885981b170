"""The command line of the verbs written in Python: options, help, errors, colors, JSON.

A verb is a module with one `Arguments` and a `main(argv)` that calls `run_verb`.
"""
