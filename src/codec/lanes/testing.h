// Helpers for the tests of lanes: random coefficients, and units made from them without coding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/image.h"
#include "base/random.h"
#include "base/testing.h"
#include "codec/lanes/coefficients.h"
#include "codec/lanes/crop_plan.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/geometry.h"
#include "codec/lanes/record.h"
#include "codec/lanes/train.h"
#include "codec/lanes/unit.h"

namespace tundish::lanes {

// Makes a unit as the entropy decoder would return it.
inline void make_unit(UnitValues& out, const Coefficients& image, int unit_x, int unit_y) {
  out.blocks = out.values = out.escapes = 0;
  for (int c = 0; c < image.geometry.components; ++c) {
    const BlockRect rect = blocks_of(image.geometry, unit_x, unit_y, c);
    const int across = image.geometry.component[c].blocks_x;
    for (int y = rect.y0; y < rect.y1; ++y) {
      for (int i = 0; i < rect.width(); ++i) {
        const int x = (y - rect.y0) % 2 == 0 ? rect.x0 + i : rect.x1 - 1 - i;
        const Block& block = image.blocks[c][static_cast<std::size_t>(y * across + x)];
        std::uint64_t mask = 0;
        out.dc[out.blocks] = block[0];
        out.start[out.blocks] = static_cast<std::uint16_t>(out.values);
        for (std::size_t z = 1; z < 64; ++z) {
          const std::int16_t value = block[kZigzag[z]];
          if (value == 0) continue;
          mask |= std::uint64_t{1} << z;
          if (value < -128 || value > 127) {
            out.escape[out.escapes++] = {static_cast<std::uint16_t>(out.values), value};
          }
          out.value[out.values++] = static_cast<std::int8_t>(value);
        }
        out.mask[out.blocks++] = mask;
      }
    }
  }
  out.start[out.blocks] = static_cast<std::uint16_t>(out.values);
  out.escape[out.escapes] = {65535, 0};
}

// Kinds of blocks in random_coefficients(). Photos are mostly `sparse`.
enum class Texture { flat, sparse, dense, wild };

inline Block random_block(Random& random, Texture texture) {
  const auto level = [&](int bound) {
    const auto width = static_cast<std::uint64_t>(2 * bound + 1);
    return static_cast<std::int16_t>(static_cast<int>(random.below(width)) - bound);
  };
  Block block = {};
  block[0] = level(texture == Texture::wild ? 32767 : 60);
  const int count = texture == Texture::flat     ? 0
                    : texture == Texture::sparse ? static_cast<int>(random.below(8))
                                                 : static_cast<int>(random.below(64));
  const std::uint64_t reach = texture == Texture::sparse ? 4 + random.below(40) : 63;
  for (int i = 0; i < count; ++i) {
    const std::size_t at = kZigzag[1 + random.below(reach)];
    const bool large = random.below(30) == 0;
    block[at] = level(texture == Texture::wild ? kMaxAc : large ? 300 : 20);
  }
  return block;
}

// Returns a random picture of the given size; quantizers are 1 to 255, or to 65,535 if wild.
inline Coefficients random_coefficients(Random& random, int width, int height, Sampling sampling,
                                        bool wild) {
  Coefficients image;
  image.geometry = make_geometry(width, height, sampling);
  for (int c = 0; c < image.geometry.components; ++c) {
    const std::uint64_t largest = wild ? 65535 : random.below(3) == 0 ? 255 : 24;
    for (std::uint16_t& q : image.quantization[c]) {
      q = static_cast<std::uint16_t>(1 + random.below(largest));
    }
    const Component& component = image.geometry.component[c];
    const int blocks = component.blocks_x * component.blocks_y;
    for (int b = 0; b < blocks; ++b) {
      const auto texture = static_cast<Texture>(random.below(wild ? 4 : 3));
      image.blocks[c].push_back(random_block(random, texture));
    }
  }
  return image;
}

// Returns whole sides, single pixels or anything between.
inline Window random_window(Random& random, int width, int height) {
  const auto side = [&](int all) {
    const int kind = between(random, 0, 3);
    return kind == 0   ? all
           : kind == 1 ? between(random, 1, std::min(all, 4))
                       : between(random, 1, all);
  };
  const int w = side(width), h = side(height);
  return {between(random, 0, width - w), between(random, 0, height - h), w, h};
}

inline std::vector<std::uint8_t> cut_out(const std::vector<std::uint8_t>& rgb, int width,
                                         const Window& window) {
  std::vector<std::uint8_t> out;
  for (int y = window.y; y < window.y + window.height; ++y) {
    const auto row = rgb.begin() + (std::ptrdiff_t{y} * width + window.x) * 3;
    out.insert(out.end(), row, row + std::ptrdiff_t{window.width} * 3);
  }
  return out;
}

// Keeps the window and detects rows and columns out of order.
struct WindowSink : StripSink {
  explicit WindowSink(const Window& window) : window(window), next(window.y) {}
  void push(const Strip& strip) override {
    in_order = in_order && strip.y == next && strip.x <= window.x &&
               strip.x + strip.width >= window.x + window.width;
    next += strip.rows;
    for (int y = 0; y < strip.rows && in_order; ++y) {
      const std::uint8_t* row = strip.pixels + y * strip.stride + 3 * (window.x - strip.x);
      rgb.insert(rgb.end(), row, row + std::ptrdiff_t{3} * window.width);
    }
  }
  bool complete() const { return in_order && next == window.y + window.height; }

  Window window;
  int next;
  bool in_order = true;
  std::vector<std::uint8_t> rgb;
};

// Renders the window without coding; empty if the renderer broke the rules of the sink.
inline std::vector<std::uint8_t> render_window(Renderer& renderer, const Coefficients& image,
                                               const Window& window) {
  static UnitValues values;
  const CropPlan plan = plan_crop(image.geometry, window);
  WindowSink sink(window);
  renderer.begin(image.geometry, image.color, image.quantization, plan, sink);
  for (int y = plan.unit_y0; y < plan.unit_y1; ++y) {
    for (int x = plan.unit_x0; x < plan.unit_x1; ++x) {
      make_unit(values, image, x, y);
      renderer.push_unit(values, x, y);
    }
  }
  return sink.complete() ? sink.rgb : std::vector<std::uint8_t>{};
}

// Recomputes the checksums of a record after its bytes were changed; returns false if the head is
// invalid. `head_bytes` excludes the checksum.
inline bool recompute_checksums(std::vector<std::byte>& bytes, std::size_t head_bytes) {
  const std::uint32_t head = mask_crc(crc32c(Bytes(bytes).first(head_bytes)));
  store(bytes.data() + head_bytes, head);
  Record record;
  if (record.read(bytes)) return false;
  const Geometry& geometry = record.geometry();
  for (int y = 0; y < geometry.units_y; ++y) {
    const auto begin = record.unit(0, y).data() - bytes.data();
    const Bytes last = record.unit(geometry.units_x - 1, y);
    const auto end = last.data() + last.size() - bytes.data();
    std::byte prefix[8];
    store(prefix, head);
    store(prefix + 4, static_cast<std::uint32_t>(y));
    const auto row = Bytes(bytes).subspan(static_cast<std::size_t>(begin),
                                          static_cast<std::size_t>(end - begin));
    store(bytes.data() + end, mask_crc(crc32c(row, crc32c(prefix))));
  }
  return true;
}

// Returns an image of random size, sampling and tables.
inline Coefficients some_image(Random& random, int largest) {
  const int width = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(largest)));
  const int height = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(largest)));
  const auto sampling = static_cast<Sampling>(random.below(kSamplings));
  Coefficients image = random_coefficients(random, width, height, sampling, false);
  if (random.below(2) == 0) image.quantization[0] = standard_quantization(75, false);
  if (random.below(2) == 0) image.quantization[2] = image.quantization[1];
  if (random.below(8) == 0) image.quantization[1][5] = 300;
  if (sampling != Sampling::gray && random.below(4) == 0) image.color = Color::rgb;
  return image;
}

// Returns tables fitted to the image.
inline std::unique_ptr<Tables> tables_for(const Coefficients& image) {
  std::vector<ImageSample> samples(1);
  static UnitSymbols scratch;
  take_sample(samples[0], image, 100, scratch);
  auto tables = std::make_unique<Tables>();
  fit_tables(*tables, samples);
  return tables;
}

}  // namespace tundish::lanes
