// The tables of the lanes codec for one pack.
#pragma once

#include <memory>

#include "codec/lanes/tables.h"
#include "data/pack/write/writer.h"
#include "data/source/source.h"

namespace tundish {

// Built in, or trained on up to 1,000 samples that are evenly spaced in the source; their number
// goes to `trained_on`. The same source gives the same tables for any number of threads.
std::shared_ptr<const lanes::Tables> make_tables(std::uint64_t& trained_on, const Source& source,
                                                 const PackOptions& options);

}  // namespace tundish
