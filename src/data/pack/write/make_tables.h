// Makes the tables of the lanes codec for one pack.
#pragma once

#include <memory>

#include "codec/lanes/tables.h"
#include "data/pack/write/writer.h"
#include "data/source/source.h"

namespace tundish {

// Returns built-in tables, or tables trained on up to 1,000 samples evenly spaced in the source;
// `trained_on` gets their number. The tables do not depend on the number of threads.
std::shared_ptr<const lanes::Tables> make_tables(std::uint64_t& trained_on, const Source& source,
                                                 const PackOptions& options);

}  // namespace tundish
