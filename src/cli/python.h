// The Python beside this program, for the parts that live inside PyTorch.
#pragma once

#include <string>
#include <vector>

#include "cli/shell.h"

namespace tundish::cli {

// Interpreters that may have tundish, best first: of the environment this program was started from,
// of $VIRTUAL_ENV, and python3, without a folder, of the PATH. None was tried.
std::vector<std::string> python_candidates(const Shell& shell);

// `code` for `python -c`, which must not import modules of the current folder: Python puts that
// folder first on sys.path, so a json.py there would replace the standard library's.
std::string code_outside_folder(const std::string& code);

// The interpreter of the environment this program was started from (.venv/bin/python beside
// .venv/bin/tundish), then $VIRTUAL_ENV's, then python3 of the PATH; empty when none can
// `import tundish`, or Ctrl-C came meanwhile. The program, then its options.
std::vector<std::string> find_python(const Shell& shell);

// Runs `python -m tundish WORDS...`, without the current folder on sys.path, with our stdin, stdout
// and stderr, and waits for it. Returns its exit code, 130 when it was interrupted. Throws
// Error(no_memory, io_read).
int run_python(const std::vector<std::string>& python, const std::vector<std::string>& words);

// A verb that is written in Python (python/tundish/__main__.py lists them): its words go there as
// they are, and its exit code comes back, 130 after Ctrl-C. Without such a Python a message says
// how to get one.
int run_python_verb(const std::string& verb, const std::vector<std::string>& words, Shell& shell);

}  // namespace tundish::cli
