// The program `tundish`: finds the verb, runs it, reports errors.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "base/interruption.h"
#include "base/machine/helper_process.h"
#include "cli/python.h"
#include "cli/renamed.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "data/source/formats/chunked/hdf5.h"

namespace tundish::cli {
namespace {

struct Verb {
  const char* group;
  const char* name;
  const char* summary;
  int (*run)(const Args& args, Shell& shell);  // null: implemented by `python -m tundish`
};

// Listed in the order of the help.
constexpr std::array kVerbs = {
    Verb{"diagnose", "doctor", "find what bounds the step of a training script", nullptr},
    Verb{"diagnose", "check", "find slow or wrong lines of a training script without running it",
         nullptr},
    Verb{"diagnose", "env", "find what makes this machine unfit for training: GPUs, CPUs, disk",
         run_env},
    Verb{"diagnose", "top", "watch GPUs, host, disks and every running loader", run_top},
    Verb{"train", "boost", "make an unmodified training script faster, and prove it", nullptr},
    Verb{"train", "tune", "find the training tricks that make your own model faster", nullptr},
    Verb{"train", "run", "run a training script on every GPU of this machine", nullptr},
    Verb{"data", "pack", "pack a folder, an archive or another dataset into one .tnd file",
         run_pack},
    Verb{"data", "convert", "write a dataset as folder, tar, TFRecord, LMDB, HDF5 or npy",
         run_convert},
    Verb{"data", "unpack", "restore the image files byte for byte, or write one record",
         run_unpack},
    Verb{"data", "info", "show what a dataset holds: summary, list of records, statistics",
         run_info},
    Verb{"data", "verify", "check every byte of a pack, or save the intact records", run_verify},
    Verb{"data", "view", "draw a contact sheet of what the network will see, or saw", run_view},
    Verb{"data", "split", "write one pack per part, such as train and val", run_split},
    Verb{"data", "merge", "write one pack of several; records are copied as they are", run_merge},
    Verb{"data", "diff", "show which samples of two datasets differ", run_diff},
    Verb{"data", "bench", "measure how fast this machine loads batches from a dataset", run_bench},
    Verb{"more", "demo", "try everything on a sample set, against torch's DataLoader", run_demo},
    Verb{"more", "explain", "explain an error code and what to do", run_explain},
};

std::string overview() {
  std::string out =
      "examples:\n"
      "  tundish boost -- python train.py\n"
      "  tundish doctor -- python train.py\n"
      "  tundish pack photos/ -o train.tnd\n"
      "\n"
      "usage: tundish VERB [...]\n"
      "\n"
      "Makes PyTorch training faster and shows what slows it down.\n";
  std::string_view group;
  for (const Verb& verb : kVerbs) {
    if (group != verb.group) out += fmt::format("\n{}:\n", verb.group);
    group = verb.group;
    out += fmt::format("  {:<9} {}\n", verb.name, verb.summary);
  }
  out +=
      "\n"
      "tundish help VERB   shows examples and options\n"
      "-f, --force         lets a command replace files; only run --logs always does\n"
      "tundish --version   prints the version; with --json also the linked libraries\n";
  return out;
}

const Verb* find_verb(const std::string& name) {
  for (const Verb& verb : kVerbs) {
    if (name == verb.name) return &verb;
  }
  return nullptr;
}

const Verb& verb_or_hint(const std::string& name) {
  if (const Verb* verb = find_verb(name)) return *verb;
  check_verb_not_renamed(name);
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  const std::string near = did_you_mean(name, names);
  throw UsageError(fmt::format("there is no verb '{}'{}", printable(name),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

int run_verb(const Verb& verb, const Args& args, Shell& shell) {
  return verb.run ? verb.run(args, shell) : run_python_verb(verb.name, args, shell);
}

int run(const Args& args, Shell& shell, std::string& verb_name) {
  if (args.empty()) throw UsageError("a verb is missing\n\n" + overview());
  const std::string& first = args[0];
  if (first == "--version" || first == "-V")
    return run_version(Args(args.begin() + 1, args.end()), shell);
  if (first == kHdf5Verb) {
    return run_read_hdf5_structure(Args(args.begin() + 1, args.end()), shell);
  }
  const bool asks_help = first == "help" || first == "--help" || first == "-h";
  if (asks_help && args.size() == 1) {
    shell.print(overview());
    return kOk;
  }
  const std::string& name = asks_help ? args[1] : first;
  if (!find_verb(name)) shell.json = std::find(args.begin(), args.end(), "--json") != args.end();
  const Verb& verb = verb_or_hint(name);
  verb_name = verb.name;
  // Arguments after the verb belong to the verb: tundish help bench load.
  Args own(args.begin() + (asks_help ? 2 : 1), args.end());
  if (asks_help) own.emplace_back("--help");
  return run_verb(verb, own, shell);
}

int run_and_report(int argc, char** argv) {
  Shell shell(argc > 0 ? argv[0] : "tundish");
  watch_interrupts();
  set_helper_program("/proc/self/exe");  // for HDF5 files: runs this program again
  const StopScope interruptible(stop_request(&stop_flag()));
  std::string verb;
  try {
    const int code = run(Args(argv + (argc > 0), argv + argc), shell, verb);
    shell.flush();
    return code;
  } catch (const UsageError& error) {
    const std::string more = verb.empty() ? "" : fmt::format("\n  see: tundish help {}", verb);
    return shell.fail(error.what() + more, kUsage);
  } catch (const Error& error) {
    return shell.fail(error);
  } catch (const std::bad_alloc&) {
    return shell.fail(Error(ErrorCode::no_memory, {.file = "tundish"}, ""));
  } catch (const std::exception& error) {
    return shell.fail(fmt::format("unexpected: {}", error.what()), kFailed);
  }
}

}  // namespace
}  // namespace tundish::cli

int main(int argc, char** argv) {
  try {
    return tundish::cli::run_and_report(argc, argv);
  } catch (...) {
    // There was not enough memory even for the message.
    constexpr std::string_view kText = "TND-505 tundish: needs more memory than there is\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
    return tundish::cli::kFailed;
  }
}
