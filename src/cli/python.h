// The Python beside this program, for the features that need PyTorch.
#pragma once

#include <string>
#include <vector>

#include "cli/shell.h"

namespace tundish::cli {

// Returns interpreters that may have tundish, best first: from this program's environment, from
// $VIRTUAL_ENV, and python3 from the PATH (without a folder). Runs no Python.
std::vector<std::string> python_candidates(const Shell& shell);

// Wraps `code` for `python -c` so that it does not import modules of the current folder. Python
// puts that folder first on sys.path, where a json.py would shadow the standard library.
std::string code_outside_folder(const std::string& code);

// Finds an interpreter that can `import tundish`: from this program's environment
// (.venv/bin/python beside .venv/bin/tundish), $VIRTUAL_ENV's, then python3 from the PATH. Returns
// the interpreter followed by its options; empty if none works, or after Ctrl-C.
std::vector<std::string> find_python(const Shell& shell);

// Runs `python -m tundish ARGS...`, without the current folder on sys.path and with our stdin,
// stdout and stderr, and waits for it. Returns its exit code, 130 if interrupted. Throws
// Error(no_memory, io_read).
int run_python(const std::vector<std::string>& python, const std::vector<std::string>& args);

// Runs a verb that is implemented in Python (listed in python/tundish/__main__.py). Passes the
// arguments unchanged and returns the exit code, 130 after Ctrl-C. Without a suitable Python,
// prints how to install one.
int run_python_verb(const std::string& verb, const std::vector<std::string>& args, Shell& shell);

}  // namespace tundish::cli
