// Chooses the samples among the values of an LMDB file, and their order. __keys__ and __len__,
// written by ImageFolder2LMDB and other tools, describe the dataset and are not samples.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/formats/records/lmdb_tree.h"

namespace tundish {

struct LmdbSamples {
  std::vector<std::size_t> order;  // indexes of values
  std::string note;                // a warning, or empty
};

// Reads the bytes of value i; exceptions pass through.
using ReadValue = std::function<void(std::vector<std::byte>& out, std::size_t i)>;

// A pickled list __keys__ specifies the samples and their order. Without the list, all values are
// samples, in tree order. Faults: source_damaged for keys that are missing or listed twice, and all
// faults of Pickle::read(); offsets count from the first byte of the file.
std::optional<Fault> choose_lmdb_samples(LmdbSamples& out, const LmdbValues& values,
                                         const ReadValue& read);

}  // namespace tundish
