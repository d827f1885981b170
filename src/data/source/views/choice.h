// Which samples of a source are wanted: by a filter, without duplicates, a random part, the first
// ones. Each works on what the one before it left, in this order.
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
  std::vector<std::string> filters = {};  // all must hold (data/source/views/filter.h)
  Duplicates duplicates = Duplicates::keep;
  std::string sample = {};  // "1000" samples or "10%" of them, by a hash of the key; empty: all
  std::uint64_t seed = 0;
  std::uint64_t limit = 0;  // the first so many; 0: all

  bool is_all() const {
    return filters.empty() && duplicates == Duplicates::keep && sample.empty() && limit == 0;
  }
  std::string text() const;  // everything that decides which samples are chosen; empty: all are
};

// Throws Error(argument) for a filter or a sample that cannot be understood; the source is not
// needed for that.
void check_choice(const Choice& choice);

struct Chosen {
  std::shared_ptr<const Source> source;  // the one given when all samples are chosen
  std::uint64_t of = 0;                  // samples there were
  std::uint64_t filtered = 0;            // samples left by the filters
  std::vector<Duplicate> duplicates;     // by their numbers in the source given
};

using ChoiceProgress = std::function<void(const char* work, std::uint64_t done, std::uint64_t all)>;

// Throws Error(argument), and Error(nothing_chosen) when no sample is left. Reads samples only when
// a filter or duplicates need their bytes.
Chosen choose(std::shared_ptr<const Source> source, const Choice& choice, int threads = 0,
              const ChoiceProgress& progress = {});

}  // namespace tundish
