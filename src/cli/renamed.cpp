#include "cli/renamed.h"

#include <fmt/format.h>

#include <array>

#include "cli/arguments.h"

namespace tundish::cli {
namespace {

struct RenamedVerb {
  const char* before;
  const char* now;
};

struct RenamedOption {
  const char* verb;
  const char* before;
  const char* now;
};

// python/tundish/_cli/renamed.py lists the options of verbs in Python.
constexpr std::array kVerbs = {
    RenamedVerb{"stats", "info --stats"},        RenamedVerb{"ls", "info --list"},
    RenamedVerb{"cat", "unpack --record N"},     RenamedVerb{"salvage", "verify --salvage OUT"},
    RenamedVerb{"replay", "view --state STATE"}, RenamedVerb{"compare", "doctor compare"},
};

constexpr std::array kOptions = {
    RenamedOption{"bench", "--batch", "--batch-size"},
    RenamedOption{"bench", "--milliseconds", "--seconds"},
    RenamedOption{"bench load", "--batch", "--batch-size"},
    RenamedOption{"bench load", "--milliseconds", "--seconds"},
    RenamedOption{"bench load", "--chart", "--output"},
    RenamedOption{"view", "--batch", "--batch-size"},
    RenamedOption{"env", "--record", "--record-bytes"},
    RenamedOption{"demo", "--milliseconds", "--seconds"},
    RenamedOption{"demo", "--images", "--samples"},
    RenamedOption{"info", "--count", "--samples"},
    RenamedOption{"bench load", "--trainer", "--train-rate"},
    RenamedOption{"pack", "--limit", "--samples"},
    RenamedOption{"pack", "--prove-sample", "--prove-samples"},
    RenamedOption{"pack", "--sample", "--subset"},
    RenamedOption{"pack", "--tables", "--lanes-tables"},
    RenamedOption{"top", "--count", "--snapshots"},
};

}  // namespace

void check_verb_not_renamed(const std::string& verb) {
  for (const RenamedVerb& row : kVerbs) {
    if (verb == row.before) {
      throw UsageError(fmt::format("'{}' is now 'tundish {}'", verb, row.now));
    }
  }
}

void check_option_not_renamed(const std::string& verb, const std::string& option) {
  for (const RenamedOption& row : kOptions) {
    if (verb == row.verb && option == row.before) {
      throw UsageError(fmt::format("{} is now {}", option, row.now));
    }
  }
}

}  // namespace tundish::cli
