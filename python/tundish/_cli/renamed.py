"""Options that have another name now. src/cli/renamed.cpp has the verbs, and options in C++."""

from __future__ import annotations

# Verb, old option, and what to write instead.
RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "doctor": {
        "--report": "--html",
        "--layers": "-v",
        "--env": "tundish env",
    },
    "doctor compare": {"--threshold": "--slower-than"},
    "tune": {
        "--tricks": "--select",
        "--without": "--ignore",
        "--check": "tundish tune remeasure PLAN FILE:FUNCTION",
        "--batch-size": "tundish tune batch-size FILE:FUNCTION",
    },
}
