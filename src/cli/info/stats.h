// `tundish info --stats`: mean and standard deviation of the levels, sizes, codecs and bad images.
#pragma once

#include <cstdint>
#include <string>

#include "cli/info/image_stats.h"
#include "cli/shell.h"
#include "data/source/source.h"

namespace tundish::cli {

// Decodes the images of `source` and prints the statistics. `begin_ns` is the time (now_ns()) at
// which opening started, for the reported seconds. Returns kDamaged if no image can be decoded.
// Throws the errors of collect_stats().
int print_stats(const Source& source, const std::string& file, const StatsOptions& options,
                std::uint64_t begin_ns, const Shell& shell);

}  // namespace tundish::cli
