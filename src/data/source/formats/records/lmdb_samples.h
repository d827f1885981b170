// Which values of an LMDB file are samples, and in which order: __keys__ and __len__, which
// ImageFolder2LMDB and others write, are about the data set and are no samples.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/formats/records/lmdb_tree.h"

namespace tundish {

struct LmdbSamples {
  std::vector<std::size_t> order;  // numbers of values
  std::string note;                // a warning, or empty
};

// The bytes of value i; a throw passes through.
using ReadValue = std::function<void(std::vector<std::byte>& out, std::size_t i)>;

// A pickled list __keys__ says which values are samples and in which order; without one all values
// are, in the order of the tree. Faults: source_damaged for keys that are missing or listed twice,
// and all of Pickle::read(); offsets count from the first byte of the file.
std::optional<Fault> choose_lmdb_samples(LmdbSamples& out, const LmdbValues& values,
                                         const ReadValue& read);

}  // namespace tundish
