// Chooses samples of a source by a filter, by removing duplicates, by a random part and by a limit.
// Each step works on the result of the previous step, in this order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"
#include "data/source/views/duplicates.h"

namespace tundish {

enum class Duplicates : std::uint8_t { keep, report, drop };

struct Choice {
  std::vector<std::string> filters = {};  // all must match (data/source/views/filter.h)
  Duplicates duplicates = Duplicates::keep;
  std::string subset = {};  // "1000" samples or a "10%" share, by a hash of the key; empty: all
  std::uint64_t seed = 0;
  std::uint64_t limit = 0;  // maximum number of samples, from the first; 0: all

  bool is_all() const {
    return filters.empty() && duplicates == Duplicates::keep && subset.empty() && limit == 0;
  }
  std::string text() const;  // all options that affect the choice; empty: chooses all
};

// Throws Error(argument) for a filter or a sample size that cannot be parsed. Needs no
// source.
void check_choice(const Choice& choice);

struct Chosen {
  std::shared_ptr<const Source> source;  // the given source if all samples are chosen
  std::uint64_t of = 0;                  // samples before the choice
  std::uint64_t filtered = 0;            // samples that pass the filters
  std::vector<Duplicate> duplicates;     // numbered as in the given source
};

using ChoiceProgress = std::function<void(const char* work, std::uint64_t done, std::uint64_t all)>;

// Throws Error(argument), and Error(nothing_chosen) if no sample is left. Reads samples only if
// a filter or the search for duplicates needs their bytes.
Chosen choose(std::shared_ptr<const Source> source, const Choice& choice, int threads = 0,
              const ChoiceProgress& progress = {});

}  // namespace tundish
