// tundish env: checks whether this machine is fit for training.
#include <fmt/format.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/machine/text_file.h"
#include "cli/env/ask_torch.h"
#include "cli/env/environment_json.h"
#include "cli/env/environment_report.h"
#include "cli/env/find_data.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "tools/environment/environment.h"

namespace tundish::cli {
namespace {

constexpr VerbHelp kHelp = {
    .verb = "env",
    .usage = "[DATA] [options]",
    .examples = R"(tundish env
tundish env train.tnd
tundish env photos/ --markdown)",
    .text = R"(Checks whether this machine is fit for training: driver, CUDA, cuDNN and torch;
throttling, power limit, clocks, PCIe link, ECC and nearest CPUs of each GPU; the CPU
quota compared with the number of threads, the frequency governor and NUMA; memory
limits and /dev/shm. With DATA, it also checks the file system of the data, the page
cache, and how fast the data can be read: in order, and record by record in random
order, with 1 to 64 reads at a time (2 seconds).

Each line is ok, a warning or a problem, with the figure and the command that fixes it.
The check changes nothing.)",
    .json = R"({version, worst, counts, seconds, findings}; findings is an array of {area, name,
level, figure, reason, fix, values}; level is ok, warning or problem, values holds the
figures as numbers with their units in the names)",
    .exits = "0 done, 1 failed or a problem was found, 2 wrong use, 130 interrupted"};

struct EnvArguments {
  std::string data;
  std::uint64_t record_bytes = 0;
  bool markdown = false, no_read_test = false;
};

// Returns false if help was requested.
bool parse(EnvArguments& out, const Args& args, Shell& shell) {
  Arguments arguments(kHelp, shell);
  arguments.positional(out.data, "DATA", "a pack, a folder, or any data file", false);
  arguments.flag(out.markdown, "--markdown", "print a table to paste into an issue");
  arguments.option(out.record_bytes, "--record-bytes", "BYTES",
                   "bytes of a random read (default: DATA's record size)", 1,
                   std::uint64_t{64} << 20);
  arguments.flag(out.no_read_test, "--no-read-test", "do not measure how fast DATA can be read");
  return arguments.parse(args);
}

std::optional<std::uint64_t> omp_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text ? parse_integer(text) : std::nullopt;
}

Findings storage_findings(const EnvArguments& arguments, const Shell& shell) {
  StorageQuestion question = find_data(arguments.data, arguments.record_bytes);
  question.measure = !arguments.no_read_test;
  question.seed = now_ns();
  if (question.measure && !question.data.files.empty() && !shell.json && !arguments.markdown) {
    shell.message("reading",
                  fmt::format("{}, {:.0f} seconds", printable(arguments.data), kStorageSeconds));
  }
  StorageState state = read_storage(question);
  state.shown_path = quoted_for_shell(arguments.data);
  return check_storage(state);
}

}  // namespace

int run_env(const Args& args, Shell& shell) {
  EnvArguments arguments;
  if (!parse(arguments, args, shell)) return kOk;
  if (shell.json && arguments.markdown)
    throw UsageError("--json and --markdown cannot be combined");
  const std::uint64_t began = now_ns();
  Findings findings =
      check_environment({.roots = {}, .torch = ask_torch(shell), .omp_threads = omp_threads()});
  if (!arguments.data.empty()) {
    for (Finding& one : storage_findings(arguments, shell)) findings.push_back(std::move(one));
  }
  const double seconds = static_cast<double>(now_ns() - began) / 1e9;
  if (shell.json) {
    print_json(shell, environment_json(findings, seconds));
  } else if (arguments.markdown) {
    shell.print(environment_markdown(findings));
  } else if (!shell.quiet) {
    shell.print(environment_text(findings, shell.out_color));
    if (arguments.data.empty()) {
      shell.print("the disk: tundish env DATA measures how fast your data can be read\n");
    }
  }
  return worst_level(findings) == Level::problem ? kFailed : kOk;
}

}  // namespace tundish::cli
