// Two data sets, compared by the keys of their samples.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct ChangedSample {
  std::uint64_t first = 0, second = 0;  // its number in each
  bool label = false;
  std::vector<std::string> fields;  // whose bytes differ, by name
  // Not empty: it could not be read from one of them, so its fields were not compared.
  std::string unreadable;
};

struct SourceDifference {
  std::vector<std::uint64_t> removed;  // only in the first, by number
  std::vector<std::uint64_t> added;    // only in the second
  std::vector<ChangedSample> changed;  // ascending in the first
  std::vector<std::string> classes_removed, classes_added;
  std::vector<std::string> fields;  // differences of the schema, one clause each
  std::vector<std::string> damage;  // outside of samples, found where packs have one id
  std::uint64_t same = 0;           // samples that do not differ
  bool same_order = true;           // of the samples that both have; not a difference

  bool is_same() const {
    return removed.empty() && added.empty() && changed.empty() && classes_removed.empty() &&
           classes_added.empty() && fields.empty() && damage.empty();
  }
  bool is_damaged() const;  // a sample could not be read, or there is other damage
};

using CompareProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Samples belong together when their keys are equal (of a key that comes several times, the first
// to the first, and so on). Images are compared by their original bytes, labels by the class's name
// where both have names. Fields that only one has, or that have another type, are differences of
// the schema and not compared. Packs with one id can differ by damage alone: every byte of both is
// checked against its checksums, and nothing is decoded. Otherwise takes 24 bytes per sample.
// Throws Error; no_random_access when both can only be scanned.
SourceDifference compare_sources(const Source& first, const Source& second, int threads = 0,
                                 const CompareProgress& progress = {});

// Samples belong together when their numbers are equal: those of `numbers`, in any order. Keys,
// names of classes and all other samples are not compared. Throws Error, also when a data set has
// no sample of such a number.
SourceDifference compare_by_number(const Source& first, const Source& second,
                                   const std::vector<std::uint64_t>& numbers, int threads = 0,
                                   const CompareProgress& progress = {});

}  // namespace tundish
