// One image on its road: read, plan, decode, augment, store. The project's picture.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "augment/resample.h"
#include "augment/store.h"
#include "augment/transforms.h"
#include "batch/budget.h"
#include "batch/doing.h"
#include "batch/order.h"
#include "batch/sample_bytes.h"
#include "decode/decode.h"
#include "source/source.h"

namespace tundish {

class SampleCache;
class CachedSample;

// What a sample is counted against; see admission.h.
struct SampleMemory {
  MemoryBudget* budget = nullptr;  // none: nothing is counted
  std::uint64_t places = 0;        // of all batches that are there at once
  std::uint64_t unnoticed = 0;     // a sample that needs no more is not charged
};

// What is done to every sample; the same for all threads of a loader.
struct Recipe {
  std::shared_ptr<const Source> source;  // second owner: whoever opened it
  int image_field = 0;
  FieldSet fields = 0;  // besides the image
  std::uint64_t seed = 0;
  Transforms transforms;
  PixelTable table;
  bool levels = false;            // store 8-bit levels, and leave mirroring to a GPU
  bool exif_orientation = false;  // turn images as their EXIF says; torchvision does not
  Limits limits;
  SampleMemory memory;
  SampleCache* cache = nullptr;  // none: every sample is read
};

constexpr std::uint64_t kMeasured = 16;

// What a worker keeps between samples, so that one no larger than those before takes no new memory
// for its bytes and pixels.
struct Scratch {
  Charge charge;                               // of the sample at work; given back last
  std::uint64_t age = 0;                       // of its batch: small ones are served first
  std::uint64_t next_use = 0;                  // when the draw's sample comes again, for the cache
  bool hit = false;                            // it was in the cache
  std::shared_ptr<const CachedSample> cached;  // its pixels; second owner: the cache
  SampleBytes kept;  // what the buffers were asked for since they were made
  Sample sample;
  DecodeScratch decode;
  Resample resample;
  Store store;
  std::vector<std::uint8_t> upright;          // a turned image
  std::vector<std::uint8_t> between, result;  // of the stage before, and of the one at work
  bool mirror = false;                        // the last sample is still to be mirrored
  // Of the last sample. Strip by strip, decoding and augmenting take turns: which of them had how
  // much of the time is measured on one sample of kMeasured (of all, in a trace) and taken over.
  std::uint64_t begin_ns = 0, read_ns = 0, decode_ns = 0, augment_ns = 0, bytes = 0;
  std::uint64_t samples = 0, measured_ns = 0, measured_decode_ns = 0;
  Doing* doing = nullptr;  // is told, when there is one
};

// Adds the figures of the last attempt to those of its thread; of one that failed, the time up to
// the stage that failed.
void tally(Scratch& scratch);

// Throws SampleError when an array field cannot be loaded.
void check_fields(const Recipe& recipe, std::uint64_t number, const Sample& sample);

// What will be done to a draw whose image has this header. Throws Error that names it when the
// transforms cannot treat it.
View plan_draw(const Recipe& recipe, const ImageHeader& header, std::uint64_t epoch,
               const Draw& draw);

// A sample that was read, and what will be done to it.
struct Planned {
  Bytes bytes;  // of the image, in the scratch
  ImageHeader header;
  std::uint8_t orientation;
  View view;
};

// Reads and plans one draw. Throws SampleError; Error when the transforms cannot treat it.
Planned read_and_plan(const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                      Scratch& scratch);

// Where an image of this size goes. Null base: nowhere, leave it out.
using Placer = std::function<Placement(Size)>;

// Loads one draw. Afterwards scratch.sample holds the fields asked for. Throws SampleError.
void load_sample(const Placer& placer, const Recipe& recipe, std::uint64_t epoch, const Draw& draw,
                 Scratch& scratch);

}  // namespace tundish
