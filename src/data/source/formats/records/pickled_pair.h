// A value of ImageFolder2LMDB: the pickle of (bytes of an image file, label). No code is executed
// (data/source/pickle/pickle.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "data/source/pickle/pickle.h"

namespace tundish {

struct PickledPair {
  Pickle pickle;
  Bytes image;  // part of the value, or owned by the pickle
  std::int64_t label = -1;
};

// Returns true if the bytes begin as a pickle of protocol 2 or later. Older pickles have no head.
bool starts_pickle(Bytes value);

// Accepts any bytes, which must outlive `out`. Faults: source_damaged; format_unsupported for names
// that are not on the list, and for a pickle of something else.
std::optional<Fault> parse_pickled_pair(PickledPair& out, Bytes value);

}  // namespace tundish
