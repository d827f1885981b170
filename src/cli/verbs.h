// The verbs of the program, one file each. Verbs return the exit code and throw Error (bad data, a
// failing machine) or UsageError, which main.cpp prints.
#pragma once

#include "cli/arguments.h"
#include "cli/shell.h"

namespace tundish::cli {

int run_pack(const Words& words, Shell& shell);
int run_info(const Words& words, Shell& shell);
int run_verify(const Words& words, Shell& shell);
int run_unpack(const Words& words, Shell& shell);
int run_convert(const Words& words, Shell& shell);
int run_split(const Words& words, Shell& shell);
int run_merge(const Words& words, Shell& shell);
int run_diff(const Words& words, Shell& shell);
int run_view(const Words& words, Shell& shell);
int run_bench(const Words& words, Shell& shell);
int run_bench_load(const Words& words, Shell& shell);  // bench load FILE
int run_env(const Words& words, Shell& shell);
int run_demo(const Words& words, Shell& shell);
int run_read_hdf5_structure(const Words& words, Shell& shell);  // hidden from the help
int run_explain(const Words& words, Shell& shell);
int run_top(const Words& words, Shell& shell);
int run_version(const Words& words, Shell& shell);  // tundish --version [--json]

}  // namespace tundish::cli
