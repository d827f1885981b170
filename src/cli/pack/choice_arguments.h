// Options that select samples of a source: --filter, --duplicates, --subset, --samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/json.h"
#include "data/source/views/choice.h"

namespace tundish::cli {

struct ChoiceArguments {
  std::vector<std::string> filters;
  std::string duplicates, subset;
  std::uint64_t seed = 0, samples = 0;
};

void add_choice_options(Arguments& arguments, ChoiceArguments& out);

// Converts the parsed options. Throws UsageError.
Choice choice_of(const ChoiceArguments& arguments);

// Calls choose() with a progress line and reports the result as messages.
Chosen choose_samples(const std::shared_ptr<const Source>& source, const Choice& choice,
                      std::uint64_t threads, bool progress, const Shell& shell);

// Returns {of, samples, filter, subset, seed, limit, duplicates}; null if all samples are chosen.
// `source` is the source before the choice.
Json choice_json(const Choice& choice, const Chosen& chosen, const Source& source);

}  // namespace tundish::cli
