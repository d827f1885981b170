// Compares two datasets by the keys of their samples.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

struct ChangedSample {
  std::uint64_t first = 0, second = 0;  // sample number in each source
  bool label = false;
  std::vector<std::string> fields;  // names of the fields whose bytes differ
  // Not empty if either source could not read the sample; its fields were not compared.
  std::string unreadable;
};

struct SourceDifference {
  std::vector<std::uint64_t> removed;  // sample numbers, only in the first source
  std::vector<std::uint64_t> added;    // sample numbers, only in the second source
  std::vector<ChangedSample> changed;  // ascending by number in the first source
  std::vector<std::string> classes_removed, classes_added;
  std::vector<std::string> fields;  // schema differences, one clause each
  std::vector<std::string> damage;  // damage outside of samples, found in packs with one id
  std::uint64_t same = 0;           // number of equal samples
  bool same_order = true;           // whether common samples have one order; not a difference

  bool is_same() const {
    return removed.empty() && added.empty() && changed.empty() && classes_removed.empty() &&
           classes_added.empty() && fields.empty() && damage.empty();
  }
  bool is_damaged() const;  // true if a sample is unreadable or other damage exists
};

using CompareProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

// Matches samples by equal keys; repeated keys match in order of occurrence. Compares images by
// their original bytes, and labels by class name where both sources have names. A field that only
// one source has, or that has another type, is a schema difference and is not compared. Packs with
// one id can differ by damage alone: every byte of both is checked against its checksums, and
// nothing is decoded. Otherwise takes 24 bytes per sample. Throws Error, in particular
// no_random_access when both sources can only be scanned.
SourceDifference compare_sources(const Source& first, const Source& second, int threads = 0,
                                 const CompareProgress& progress = {});

// Matches samples by equal numbers: the listed `numbers`, in any order. Does not compare keys,
// class names or any other samples. Throws Error, also when a dataset has no sample with a listed
// number.
SourceDifference compare_by_number(const Source& first, const Source& second,
                                   const std::vector<std::uint64_t>& numbers, int threads = 0,
                                   const CompareProgress& progress = {});

}  // namespace tundish
