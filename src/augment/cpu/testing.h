// Helpers shared by the tests of this folder: images in memory, and two ways to run a chain of
// geometric operations, the engine's and the reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "augment/cpu/resample.h"
#include "augment/pixels/pixel_runner.h"
#include "augment/plan.h"
#include "base/random.h"
#include "base/testing.h"

namespace tundish {

struct TestImage {
  Size size;
  std::vector<std::uint8_t> rgb;  // interleaved
  bool operator==(const TestImage&) const = default;
};

// Byte i is the low byte of mix(i + seed), so that Python can generate the same image.
inline TestImage noise(Size size, std::uint64_t seed) {
  TestImage image{size, std::vector<std::uint8_t>(static_cast<std::size_t>(size.width) *
                                                  static_cast<std::size_t>(size.height) * 3)};
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    image.rgb[i] = static_cast<std::uint8_t>(mix(i + seed));
  }
  return image;
}

inline const std::uint8_t* pixel(const TestImage& image, int x, int y) {
  return image.rgb.data() +
         (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.size.width) +
          static_cast<std::size_t>(x)) *
             3;
}

// --- the reference: one operation after the other, each on a whole image ------------------------

inline TestImage crop_reference(const TestImage& in, const Window& window, PadMode mode,
                                std::array<std::uint8_t, 3> fill) {
  TestImage out{{window.width, window.height}, {}};
  for (int y = 0; y < window.height; ++y) {
    for (int x = 0; x < window.width; ++x) {
      const int from_x = padded_index(window.x + x, in.size.width, mode);
      const int from_y = padded_index(window.y + y, in.size.height, mode);
      const bool inside = from_x >= 0 && from_y >= 0;
      const std::uint8_t* from = inside ? pixel(in, from_x, from_y) : fill.data();
      out.rgb.insert(out.rgb.end(), from, from + 3);
    }
  }
  return out;
}

inline TestImage resize_reference(const TestImage& in, Size size, Filter filter) {
  TestImage out{size, {}};
  resample_reference(out.rgb, in.rgb, in.size, size, filter);
  return out;
}

inline TestImage mirror_reference(const TestImage& in, bool x_axis, bool y_axis) {
  TestImage out{in.size, {}};
  for (int y = 0; y < in.size.height; ++y) {
    for (int x = 0; x < in.size.width; ++x) {
      const std::uint8_t* from =
          pixel(in, x_axis ? in.size.width - 1 - x : x, y_axis ? in.size.height - 1 - y : y);
      out.rgb.insert(out.rgb.end(), from, from + 3);
    }
  }
  return out;
}

// --- the engine: steps over strips -----------------------------------------------------------

class WholeImage : public RowSink {
 public:
  explicit WholeImage(Size size) : image_(noise(size, 1)), seen_(size_of(size.height)) {}

  void row(int y, const std::uint8_t* rgb, int width, bool mirror_x) override {
    for (int x = 0; x < width; ++x) {
      const int to = mirror_x ? width - 1 - x : x;
      for (std::size_t c = 0; c < 3; ++c) {
        image_.rgb[(size_of(y) * size_of(width) + size_of(to)) * 3 + c] = rgb[size_of(x) * 3 + c];
      }
    }
    ++seen_[size_of(y)];
  }

  const TestImage& image() const { return image_; }
  bool complete() const {
    for (const int times : seen_) {
      if (times != 1) return false;
    }
    return true;
  }

 private:
  static std::size_t size_of(int i) { return static_cast<std::size_t>(i); }
  TestImage image_;
  std::vector<int> seen_;
};

// Pushes the needed window as strips of random height, some wider than needed. Each strip is a
// separate allocation of exact size so that a sanitizer reports reads past the end.
inline void run_stage(RowSink& out, Resample& resample, const ResizeStep& step, const TestImage& in,
                      Random& random) {
  resample.begin(step, in.size, out);
  const Window need = resample.needed();
  for (int y = need.y; y < need.y + need.height;) {
    const int left = between(random, 0, need.x);
    const int right = between(random, 0, in.size.width - need.x - need.width);
    const int width = need.width + (need.x - left) + right;
    const int rows = std::min(between(random, 1, 20), need.y + need.height - y);
    std::vector<std::uint8_t> memory;
    for (int r = 0; r < rows; ++r) {
      const std::uint8_t* from = pixel(in, left, y + r);
      memory.insert(memory.end(), from, from + 3 * std::ptrdiff_t{width});
    }
    memory.shrink_to_fit();
    resample.push({memory.data(), 3 * std::ptrdiff_t{width}, left, y, width, rows});
    y += rows;
  }
  resample.finish();
}

inline TestImage run_stage(Resample& resample, const ResizeStep& step, const TestImage& in,
                           Random& random) {
  WholeImage out({step.keep.width, step.keep.height});
  run_stage(out, resample, step, in, random);
  return out.complete() ? out.image() : TestImage{};
}

inline TestImage run_view(Resample& resample, const View& view, TestImage image, Random& random) {
  for (const PlanStep& step : view.steps()) {
    if (const ResizeStep* resize = std::get_if<ResizeStep>(&step)) {
      image = run_stage(resample, *resize, image, random);
    } else {
      run_reference(std::get<PixelStep>(step), image.rgb, image.size);
    }
  }
  return image;
}

}  // namespace tundish
