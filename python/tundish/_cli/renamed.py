"""Renamed options of Python verbs. src/cli/renamed.cpp lists renamed verbs, and options of C++ verbs."""

from __future__ import annotations

# {verb: {old option: what to write instead}}
RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "doctor": {
        "--report": "--html",
        "--layers": "-v",
        "--env": "tundish env",
        "--memory": "--memory-lines",
        "--no-replay": "--no-cached-batches",
    },
    "doctor compare": {"--threshold": "--slower-than"},
    "run": {"--node": "--node-rank"},
    "tune": {
        "--tricks": "--select",
        "--without": "--ignore",
        "--own": "--custom-trick",
        "--check": "tundish tune remeasure PLAN FILE:FUNCTION",
        "--batch-size": "tundish tune batch-size FILE:FUNCTION",
    },
    "tune remeasure": {"--own": "--custom-trick"},
    "tune batch-size": {"--tricks": "--select"},
}
