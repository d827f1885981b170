// Proves that a preprocessed pack equals online preprocessing, and measures the savings.
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
  std::uint64_t records = 0;                        // compared records
  std::uint64_t kept = 0;                           // records with the source's bytes
  std::uint64_t equal = 0;                          // lossless records, equal in every pixel
  std::vector<std::string> different;               // keys of lossless records that differ
  std::uint64_t lossy = 0;                          // JPEG records
  std::optional<double> psnr_min, psnr_median;      // PSNR of JPEG records in dB; empty without any
  std::uint64_t bytes_before = 0, bytes_after = 0;  // image bytes of all compared records
  double before_us = 0, after_us = 0;  // per image: read, decode, resize, augment; one thread
};

// Compares up to `most` records, evenly spaced in the pack, with the images that a loader produces
// from the same samples of the source. Then times a loader alternately on both. `report` is the
// report of the pack. The source must support random access. Throws Error, including
// Error(interrupted) once `stop` is set.
Proof prove(const std::string& target, const std::shared_ptr<const Source>& source,
            const PackReport& report, const PreprocessOptions& options, std::uint64_t most,
            const std::atomic<bool>& stop);

}  // namespace tundish::cli
