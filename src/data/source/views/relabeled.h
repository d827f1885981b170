// A source with new label numbers, and with new keys for some samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// `schema`: fields must match the source. `labels`: new number of each label; a label beyond the
// list, or none, is kept. `keys`: new keys by number.
std::shared_ptr<const Source> relabel(std::shared_ptr<const Source> source, Schema schema,
                                      std::vector<std::int64_t> labels,
                                      std::map<std::uint64_t, std::string> keys);

}  // namespace tundish
