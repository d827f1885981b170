// What a worker keeps between samples, so that one no larger than those before takes no new memory
// for its bytes and pixels. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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
  Charge charge;                               // of the sample at work; given back last
  std::uint64_t age = 0;                       // of its batch: small ones are served first
  std::uint64_t next_use = 0;                  // when the draw's sample comes again, for the cache
  bool hit = false;                            // it was in the cache
  std::shared_ptr<const CachedSample> cached;  // its pixels; second owner: the cache
  SampleBytes kept;  // what the buffers were asked for since they were made
  Sample sample;
  DecodeScratch decode;
  PlanRunner plan;
  MixRows mix;
  std::vector<std::uint8_t> upright;  // a turned image
  std::vector<std::uint8_t> shared;   // what several images of a sample need of it
  std::vector<std::uint8_t> gray;     // a few rows of a gray image
  std::vector<LeftToGpu> left;        // of the last sample's images
  Size unpadded;                      // its first image, without the padding of PadTo
  SampleTimer timer;
};

}  // namespace tundish
