// A view of some samples of a source, in the source's order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/source/source.h"

namespace tundish {

// `numbers`: ascending, each below source->count(). Keeps fields and classes of the source, even
// classes that no chosen sample has. Takes 8 bytes per chosen sample.
std::shared_ptr<const Source> select_samples(std::shared_ptr<const Source> source,
                                             std::vector<std::uint64_t> numbers);

}  // namespace tundish
