// Shows that a preprocessed pack holds what the same work on line gives, and what it saves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/pack/write/writer.h"
#include "data/source/source.h"
#include "rewrite/preprocess/options.h"

namespace tundish::cli {

struct Proof {
  std::uint64_t records = 0;                        // that were looked at
  std::uint64_t kept = 0;                           // of these: the bytes of the source
  std::uint64_t equal = 0;                          // lossless ones: every pixel
  std::vector<std::string> different;               // lossless ones that differ: their keys
  std::uint64_t lossy = 0;                          // JPEGs
  std::optional<double> psnr_min, psnr_median;      // of these, in dB; empty without any
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of the images of all these records
  double before_us = 0, after_us = 0;  // per image: read, decode, resize, augment; one thread
};

// Compares up to `most` records that are evenly spaced in the pack with what a loader makes of the
// same samples of the source, then times a loader's work on both, in turn. `report` is that of the
// pack. The source can be read by number. Throws
// Error, also Error(interrupted) once `stop` is set.
Proof prove(const std::string& target, const std::shared_ptr<const Source>& source,
            const PackReport& report, const PreprocessOptions& options, std::uint64_t most,
            const std::atomic<bool>& stop);

}  // namespace tundish::cli
