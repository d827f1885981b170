// Helpers for tests of the GPU path, on machines with and without a GPU: random records and views,
// damaged records with recomputed checksums, and the CPU path for comparison.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "augment/cpu/resample.h"
#include "augment/cpu/store.h"
#include "augment/transform.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/record.h"
#include "codec/lanes/testing.h"
#include "cuda/decode/batch_plan.h"

namespace tundish::cuda {

// Returns a record of any sampling, with photo-like or extreme blocks.
inline std::vector<std::byte> random_record(Random& random, int largest,
                                            const lanes::Tables& tables) {
  const bool wild = random.below(16) == 0;
  const auto sampling = static_cast<lanes::Sampling>(random.below(lanes::kSamplings));
  lanes::Coefficients image = lanes::random_coefficients(
      random, between(random, 1, largest), between(random, 1, largest), sampling, wild);
  if (random.below(2) == 0) image.quantization[0] = lanes::standard_quantization(75, false);
  if (sampling != lanes::Sampling::gray && random.below(8) == 0) image.color = lanes::Color::rgb;
  lanes::RecordWriter writer;
  std::vector<std::byte> record;
  // Extreme blocks may have a coefficient that no record can hold.
  while (!writer.write(record, image, tables)) {
    for (lanes::Blocks& blocks : image.blocks) {
      for (lanes::Block& block : blocks) block[0] = static_cast<std::int16_t>(block[0] / 16);
    }
  }
  return record;
}

inline Size size_of(const std::vector<std::byte>& record) {
  const auto size = lanes::read_size(record);
  return {size->width, size->height};
}

// Applies crops, resizes, padding and mirroring in any order.
inline View random_view(Random& random, Size image, int largest) {
  View view(image);
  const auto filter = [&] { return static_cast<Filter>(random.below(3)); };
  const auto mirror = [&] {
    if (random.below(3) == 0) view.mirror_x();
    if (random.below(6) == 0) view.mirror_y();
  };
  mirror();
  const Window window = lanes::random_window(random, view.size().width, view.size().height);
  if (random.below(4) == 0) {  // with padding
    const int far = between(random, 1, 40);
    const Window padded = {window.x - between(random, 0, far), window.y - between(random, 0, far),
                           window.width + between(random, 0, far),
                           window.height + between(random, 0, far)};
    const auto level = [&] { return static_cast<std::uint8_t>(random.below(256)); };
    view.crop(padded, static_cast<PadMode>(random.below(4)), {level(), level(), level()});
  } else if (random.below(4) != 0) {
    view.crop(window);
  }
  mirror();
  const Size size = {between(random, 1, largest), between(random, 1, largest)};
  if (random.below(4) != 0) view.resize(size, filter());
  if (random.below(4) == 0) {
    view.crop(lanes::random_window(random, view.size().width, view.size().height));
  }
  mirror();
  return view;
}

// Recomputes the checksums after the bytes were changed; false if the head is invalid.
inline bool seal_again(std::vector<std::byte>& bytes) {
  const auto size = lanes::read_size(bytes);
  const auto kind = bytes.size() > 2 ? static_cast<unsigned>(bytes[2]) : 7;
  if (!size || size->width == 0 || size->height == 0 || (kind & 7) >= lanes::kSamplings) {
    return false;
  }
  const auto geometry =
      lanes::make_geometry(size->width, size->height, static_cast<lanes::Sampling>(kind & 7));
  std::size_t at = 7;
  for (int c = 0; c < geometry.components; ++c) {
    if (at >= bytes.size()) return false;
    const auto code = static_cast<unsigned>(bytes[at]);
    at += code == 0 ? 65 : code == 201 ? 129 : 1;
  }
  at += 2 * static_cast<std::size_t>(geometry.units());
  return at + 4 <= bytes.size() && lanes::recompute_checksums(bytes, at);
}

// The CPU path for a lanes record, as in loader/sample/sample.cpp.
class CpuPath {
 public:
  std::optional<Fault> make(std::byte* base, Bytes record, const View& view,
                            const PixelTable& table, const ElementPlace& place,
                            const lanes::Tables& tables) {
    const auto bytes = static_cast<std::ptrdiff_t>(dtype_bytes(table.dtype));
    store_.begin(table, {base + static_cast<std::ptrdiff_t>(place.first) * bytes, place.dy * bytes,
                         place.dx * bytes, place.dc * bytes});
    if (!view.is_one_resize()) return std::nullopt;
    resample_.begin(view.first(), view.image(), store_);
    const Window needed = resample_.needed();
    if (needed.width > 0 && needed.height > 0) {
      if (auto fault = decoder_.decode(resample_, record, needed, tables)) return fault;
    }
    resample_.finish();
    return std::nullopt;
  }

 private:
  lanes::Decoder decoder_;
  Resample resample_;
  Store store_;
};

// Places images one after the other in the batch, each with its own size and layout.
inline ElementPlace next_place(Random& random, Size size, std::uint64_t& elements) {
  ElementPlace place;
  place.first = elements;
  elements += std::uint64_t{3} * static_cast<std::uint64_t>(size.width) *
              static_cast<std::uint64_t>(size.height);
  if (random.below(2) == 0) {  // channels last
    place.dc = 1;
    place.dx = 3;
    place.dy = 3 * size.width;
  } else {
    place.dx = 1;
    place.dy = size.width;
    place.dc = size.width * size.height;
  }
  return place;
}

// Returns a table of any element type, with zero, one or two Normalize transforms.
inline PixelTable random_table(Random& random) {
  std::vector<Transform> transforms;
  const auto dtype = static_cast<Dtype>(random.below(4));
  if (dtype == Dtype::uint8) return pixel_table(transforms);
  transforms.push_back(ToDtype{.dtype = dtype, .scale = true});
  const std::uint64_t times = random.below(3);
  for (std::uint64_t i = 0; i < times; ++i) {
    transforms.push_back(
        Normalize{.mean = {{0.485f, 0.456f, 0.406f}}, .std = {{0.229f, 0.224f, 0.225f}}});
  }
  return pixel_table(transforms);
}

}  // namespace tundish::cuda
