// A random batch for check_upload, and a reference implementation of mixing its images.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "augment/cpu/layout.h"
#include "augment/mix_reference.h"
#include "augment/transforms.h"
#include "cuda/augment/gpu_erasure.h"
#include "cuda/augment/gpu_mix.h"
#include "cuda/augment/step_range.h"
#include "cuda/decode/batch_layout.h"
#include "cuda/decode/testing.h"
#include "data/source/memory_source.h"

namespace tundish::cuda {

inline std::size_t at(std::uint64_t i) { return static_cast<std::size_t>(i); }

inline std::uint64_t elements(Size size) {
  return 3 * static_cast<std::uint64_t>(size.width) * static_cast<std::uint64_t>(size.height);
}

class Records : public MemorySource {
 public:
  Records() { schema_.fields = {{"image", FieldType::image}}; }
  SampleInfo info(std::uint64_t i) const override {
    const Size size = size_of(items[i].fields[0]);
    return {.width = static_cast<std::uint32_t>(size.width),
            .height = static_cast<std::uint32_t>(size.height),
            .codec = Codec::lanes};
  }
};

struct Batch {
  Records source;                      // decoded by the GPU
  std::vector<View> views;             // one per record
  std::vector<std::uint32_t> numbers;  // positions in the batch
  std::vector<std::uint8_t> levels;
  std::vector<Target> targets;
  std::vector<std::int64_t> labels, samples;
  Size size;
  PixelTable table;
  bool channels_first = false;
  std::vector<StepRange> remaining;  // for the images of `levels`, then for the others; or empty
  std::vector<PixelStep> steps;
  std::vector<Erasure> erasures;  // at most one per image; `erased` has the ranges
  std::vector<StepRange> erased;
  std::vector<GpuErasure> gpu_erasures;
  std::vector<Mix> mixes;  // one per image, or empty
  std::vector<GpuMix> gpu_mixes;
  PixelTable float_table;
};

inline constexpr int kClasses = 37;
inline constexpr float kOn = 0.9f, kOff = 0.0027f;

// Mixes every image with the next one, in a third of the batches that allow mixing.
inline void add_mixes(Batch& batch, Random& random) {
  if (batch.remaining.empty() || batch.table.dtype == Dtype::uint8 || random.below(3) > 0) return;
  const std::size_t count = batch.labels.size();
  std::vector<ImageRef> images(count);
  for (std::uint32_t i = 0; i < batch.targets.size(); ++i) {
    images[batch.targets[i] & ~kMirrored] = i | (batch.targets[i] & kMirrored);
  }
  for (std::uint32_t i = 0; i < batch.numbers.size(); ++i) images[batch.numbers[i]] = i | kDecoded;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t partner = (i + 1) % count;
    Mix mix{.kind = static_cast<Mix::Kind>(random.below(3)), .share = random.uniform()};
    if (mix.kind == Mix::Kind::cut) {
      const int x = between(random, 0, batch.size.width), y = between(random, 0, batch.size.height);
      mix.box = {x, y, between(random, 0, batch.size.width - x),
                 between(random, 0, batch.size.height - y)};
    }
    batch.labels[i] = static_cast<std::int64_t>(random.below(kClasses));
    batch.mixes.push_back(mix);
    batch.gpu_mixes.push_back({.own = images[i],
                               .partner = images[partner],
                               .kind = mix.kind,
                               .share = static_cast<float>(mix.share),
                               .rest = static_cast<float>(1.0 - mix.share),
                               .box = mix.box});
  }
  for (std::size_t i = 0; i < count; ++i) {
    batch.gpu_mixes[i].label = batch.labels[i];
    batch.gpu_mixes[i].partner_label = batch.labels[(i + 1) % count];
  }
  for (auto& channel : batch.float_table.value) {
    for (std::uint32_t& bits : channel) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(random.uniform(-3.0, 3.0)));
    }
  }
  for (std::size_t i = 0; i < batch.erasures.size(); ++i) {
    batch.gpu_erasures[i] = gpu_erasure(batch.erasures[i], Dtype::float32);
  }
}

// Returns an image before mixing.
inline std::vector<float> elements_before(ImageRef image, const std::vector<std::uint8_t>& levels,
                                          const std::vector<std::uint8_t>& decoded,
                                          const std::vector<std::uint32_t>& errors,
                                          const Batch& batch) {
  const std::size_t pixels = at(elements(batch.size)), number = number_of(image);
  if (image & kDecoded && errors[number] != kNoError) return std::vector<float>(pixels);
  const std::vector<std::uint8_t>& from = image & kDecoded ? decoded : levels;
  std::vector<std::uint8_t> one(pixels);
  const auto width = static_cast<std::size_t>(batch.size.width);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::size_t x = i / 3 % width, row = i / 3 / width;
    const std::size_t from_x = image & kMirrored ? width - 1 - x : x;
    one[i] = from[number * pixels + 3 * (row * width + from_x) + i % 3];
  }
  const auto [first, count] =
      batch.erased[image & kDecoded ? batch.targets.size() + number : number];
  return elements_reference(one.data(), std::span(batch.erasures).subspan(first, count), batch.size,
                            batch.float_table);
}

inline void mix_all(std::vector<std::byte>& out, const std::vector<std::uint8_t>& levels,
                    const std::vector<std::uint8_t>& decoded,
                    const std::vector<std::uint32_t>& errors, const Batch& batch) {
  const std::size_t bytes = at(elements(batch.size)) * dtype_bytes(batch.table.dtype);
  for (std::size_t i = 0; i < batch.mixes.size(); ++i) {
    const auto before = [&](ImageRef image) {
      return elements_before(image, levels, decoded, errors, batch);
    };
    mix_reference(
        before(batch.gpu_mixes[i].own), before(batch.gpu_mixes[i].partner), batch.mixes[i],
        batch.size,
        placement(out.data() + i * bytes, batch.size, batch.table.dtype, batch.channels_first),
        batch.table.dtype);
  }
}

inline std::vector<float> soft_labels_reference(const Batch& batch) {
  std::vector<float> out;
  for (const GpuMix& mix : batch.gpu_mixes) {
    for (int c = 0; c < kClasses; ++c) {
      const float own = c == mix.label ? kOn : kOff, other = c == mix.partner_label ? kOn : kOff;
      out.push_back(blend(own, other, mix.share, mix.rest));
    }
  }
  return out;
}

}  // namespace tundish::cuda
