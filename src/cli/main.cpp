// The program `tundish`: finds the verb, runs it, reports what went wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "cli/python.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "core/interruption.h"
#include "core/machine/helper_process.h"
#include "source/formats/chunked/hdf5.h"

namespace tundish::cli {
namespace {

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Words& words, Shell& shell);  // null: `python -m tundish` has the verb
};

constexpr std::array kVerbs = {
    Verb{"pack", "a folder, archive, or data set of another format into one .tnd file", run_pack},
    Verb{"info", "what is in a pack", run_info},
    Verb{"stats", "mean and standard deviation for Normalize, sizes, bad images", run_stats},
    Verb{"ls", "the records of a pack, one line each", run_ls},
    Verb{"cat", "the bytes of one record", run_cat},
    Verb{"verify", "check every byte of a pack", run_verify},
    Verb{"unpack", "the image files again, byte for byte", run_unpack},
    Verb{"convert", "into another format: folder, tar, TFRecord, LMDB, HDF5, npy", run_convert},
    Verb{"split", "one pack per part, such as train and val, by a hash of the keys", run_split},
    Verb{"merge", "one pack of several, records copied as they are", run_merge},
    Verb{"diff", "which samples of two data sets differ", run_diff},
    Verb{"salvage", "the intact records of a damaged pack, and what is lost", run_salvage},
    Verb{"replay", "the images that came after a saved state, with what was done to each",
         run_replay},
    Verb{"view", "a contact sheet of what the network will see", run_view},
    Verb{"bench", "how fast this machine loads batches from a pack", run_bench},
    Verb{"top", "GPUs, host, disks and every running loader, live", run_top},
    Verb{"tune", "the training tricks that make your own model faster, and only those", nullptr},
    Verb{"run", "a training script on every GPU of this machine, one process each", nullptr},
    Verb{"check", "lines of a training script that make it slow or wrong, without running it",
         nullptr},
    Verb{"doctor", "what bounds the step of a training script, and what to change", nullptr},
    Verb{"compare", "two reports of the doctor: is the step slower than it was?", nullptr},
    Verb{"demo", "everything end to end on a sample set, against torch's DataLoader", run_demo},
    Verb{"explain", "what an error code means and what to do", run_explain},
};

// tundish doctor --env, tundish help doctor --env: the machine's half of a verb whose other half is
// Python's.
bool is_environment_question(const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto verb = words.begin() + (words[0] == "help" ? 1 : 0);
  return verb != words.end() && *verb == "doctor" && std::find(verb, end, "--env") != end;
}

std::string overview() {
  std::string out =
      "examples:\n"
      "  tundish pack photos/ -o train.tnd\n"
      "  tundish info train.tnd\n"
      "\n"
      "usage: tundish VERB [...]\n"
      "\n"
      "Packs image data sets into one file and feeds PyTorch from it.\n"
      "\n";
  for (const Verb& verb : kVerbs) out += fmt::format("  {:<9} {}\n", verb.name, verb.summary);
  out +=
      "\n"
      "tundish help VERB shows examples and options; tundish --version the version, with --json\n"
      "also the version of every library that is linked in.\n";
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
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  const std::string near = did_you_mean(name, names);
  throw UsageError(fmt::format("there is no verb '{}'{}", printable(name),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

int run_verb(const Verb& verb, const Words& words, Shell& shell) {
  return verb.run ? verb.run(words, shell) : run_python_verb(verb.name, words, shell);
}

int run(const Words& words, Shell& shell, std::string& verb_name) {
  if (words.empty()) throw UsageError("a verb is missing\n\n" + overview());
  const std::string& first = words[0];
  if (first == "--version" || first == "-V")
    return run_version(Words(words.begin() + 1, words.end()), shell);
  if (first == kHdf5Verb) {
    return run_read_hdf5_structure(Words(words.begin() + 1, words.end()), shell);
  }
  if (is_environment_question(words)) {
    verb_name = "doctor --env";
    return run_doctor_env(first == "help" ? Words{"--help"} : Words(words.begin() + 1, words.end()),
                          shell);
  }
  const bool asks_help = first == "help" || first == "--help" || first == "-h";
  if (asks_help && words.size() == 1) {
    shell.print(overview());
    return kOk;
  }
  const Verb& verb = verb_or_hint(asks_help ? words[1] : first);
  verb_name = verb.name;
  if (asks_help) return run_verb(verb, {"--help"}, shell);
  return run_verb(verb, Words(words.begin() + 1, words.end()), shell);
}

int run_and_report(int argc, char** argv) {
  Shell shell(argc > 0 ? argv[0] : "tundish");
  watch_interrupts();
  set_helper_program("/proc/self/exe");  // of HDF5 files: this program once more
  const StopScope interruptible(stop_request(&stop_flag()));
  std::string verb;
  try {
    const int code = run(Words(argv + (argc > 0), argv + argc), shell, verb);
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
    // There was not even memory for the message.
    constexpr std::string_view kText = "TND-505 tundish: needs more memory than there is\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
    return tundish::cli::kFailed;
  }
}
