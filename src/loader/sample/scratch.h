// Buffers that a worker keeps between samples. A sample no larger than earlier samples allocates
// no memory for its bytes and pixels. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "augment/cpu/placement.h"
#include "augment/cpu/plan_runner.h"
#include "augment/mix_rows.h"
#include "codec/decode/decode.h"
#include "data/source/source.h"
#include "loader/memory/budget.h"
#include "loader/memory/sample_bytes.h"
#include "loader/sample/sample_timer.h"

namespace tundish {

class CachedSample;

struct Scratch {
  Charge charge;                               // charge of the current sample; released last
  std::uint64_t age = 0;                       // age of its batch: small ages are served first
  std::uint64_t next_use = 0;                  // next use of the sample, for the cache
  bool hit = false;                            // the sample was in the cache
  std::shared_ptr<const CachedSample> cached;  // cached pixels; shared with the cache
  SampleBytes kept;                            // largest sizes requested from the buffers
  Sample sample;
  DecodeScratch decode;
  PlanRunner plan;
  MixRows mix;
  std::vector<std::uint8_t> upright;  // a rotated image
  std::vector<std::uint8_t> shared;   // part of the image that several images share
  std::vector<std::uint8_t> gray;     // a few rows of a gray image
  std::vector<Placement> rows;        // destination of each image of the sample
  std::vector<GpuWork> gpu_work;      // per image of the last sample
  Size unpadded;                      // size of its first image, without PadTo
  SampleTimer timer;
};

}  // namespace tundish
