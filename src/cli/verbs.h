// The verbs of the program, one file each. Verbs return the exit code and throw Error (bad data, a
// failing machine) or UsageError, which main.cpp prints.
#pragma once

#include "cli/arguments.h"
#include "cli/shell.h"

namespace tundish::cli {

int run_pack(const Args& args, Shell& shell);
int run_info(const Args& args, Shell& shell);
int run_verify(const Args& args, Shell& shell);
int run_unpack(const Args& args, Shell& shell);
int run_convert(const Args& args, Shell& shell);
int run_split(const Args& args, Shell& shell);
int run_merge(const Args& args, Shell& shell);
int run_diff(const Args& args, Shell& shell);
int run_view(const Args& args, Shell& shell);
int run_bench(const Args& args, Shell& shell);
int run_bench_load(const Args& args, Shell& shell);  // bench load FILE
int run_env(const Args& args, Shell& shell);
int run_demo(const Args& args, Shell& shell);
int run_read_hdf5_structure(const Args& args, Shell& shell);  // hidden from the help
int run_explain(const Args& args, Shell& shell);
int run_top(const Args& args, Shell& shell);
int run_version(const Args& args, Shell& shell);  // tundish --version [--json]

}  // namespace tundish::cli
