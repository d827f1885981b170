// Reads neighboring pixels of an image from its planes, four or eight at a time: upsampling as in
// libjpeg, and color conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "codec/lanes/sample_arithmetic.h"
#include "cuda/decode/batch_layout.h"

namespace tundish::cuda {

// Clips four numbers to 0 .. 255; the first is in the lowest byte.
TUNDISH_HOST_DEVICE std::uint32_t clip_four(const int* levels) {
#ifdef __CUDA_ARCH__
  const auto pair = [](int second, int first, std::uint32_t above) {
    std::uint32_t out;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(out)
        : "r"(second), "r"(first), "r"(above));
    return out;
  };
  return pair(levels[1], levels[0], pair(levels[3], levels[2], 0));
#else
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const int level = levels[i] < 0 ? 0 : levels[i] > 255 ? 255 : levels[i];
    out |= static_cast<std::uint32_t>(level) << (8 * i);
  }
  return out;
#endif
}

TUNDISH_HOST_DEVICE int byte_of(std::uint32_t word, int i) {
  return static_cast<int>(word >> (8 * i) & 255);
}

TUNDISH_HOST_DEVICE int signed_byte_of(std::uint32_t word, int i) {
#ifdef __CUDA_ARCH__
  int out;  // a selector with its highest bit set copies the byte's sign bit eight times
  asm("prmt.b32 %0, %1, 0, %2;"
      : "=r"(out)
      : "r"(word), "r"(0x8880u + 0x1111u * static_cast<unsigned>(i)));
  return out;
#else
  return static_cast<std::int8_t>(word >> (8 * i));
#endif
}

// Selects bytes of a (0 .. 3) and b (4 .. 7), by four bits of `which` per byte of the result.
TUNDISH_HOST_DEVICE std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t which) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, which);
#else
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t out = 0;
  for (int i = 0; i < 4; ++i) {
    out |= static_cast<std::uint32_t>(both >> (8 * (which >> (4 * i) & 7)) & 255) << (8 * i);
  }
  return out;
#endif
}

TUNDISH_HOST_DEVICE int clamped(int value, int least, int most) {
  return value < least ? least : value > most ? most : value;
}

// Returns four chroma samples for the rare samplings. `origin` is sample (0, 0); `least` and `most`
// are the first and last columns of the plane.
TUNDISH_OUT_OF_LINE std::uint32_t rare_chroma(const ImageTask& image, const std::uint8_t* origin,
                                              int least, int most, int x, int y) {
  const int pitch = static_cast<int>(image.plane[1].pitch);
  const bool high = image.chroma == Chroma::smooth_high;
  const int near_y = high ? y >> 1 : y >> image.shift_y;
  const int far_y = clamped(near_y + ((y & 1) != 0 ? 1 : -1), 0, image.plane[1].height - 1);
  const std::uint8_t* near = origin + std::ptrdiff_t{near_y} * pitch;
  const std::uint8_t* far = origin + std::ptrdiff_t{far_y} * pitch;
  std::uint32_t out = 0;
  TUNDISH_UNROLL(1)
  for (int i = 0; i < 4; ++i) {
    const int at = clamped((x + i) >> image.shift_x, least, most);
    int level = near[at];
    if (high) {
      level = lanes::smooth(level, far[at], (y & 1) != 0);
    } else if (image.chroma == Chroma::smooth_wide) {
      const int next = clamped(((x + i) >> 1) + ((i & 1) != 0 ? 1 : -1), least, most);
      level = lanes::smooth(level, near[next], (i & 1) != 0);
    }
    out |= static_cast<std::uint32_t>(level) << (8 * i);
  }
  return out;
}

class FourPixels {
 public:
  // The components of four pixels, one byte per pixel.
  struct Samples {
    std::uint32_t first, second, third;
  };

  TUNDISH_HOST_DEVICE FourPixels(const ImageTask& image, const std::uint8_t* planes)
      : image_(image), chroma_(image.chroma), rgb_(image.rgb != 0) {
    for (int c = 0; c < 3; ++c) {
      const PlaneTask& plane = image.plane[c];
      // Address of the component's sample (0, 0); it may be before the plane.
      origin_[c] = planes + static_cast<std::size_t>(plane.at) * kPlaneAlign -
                   std::ptrdiff_t{8} * plane.y0 * static_cast<int>(plane.pitch) - 8 * plane.x0;
    }
    pitch_[0] = image.plane[0].pitch;
    pitch_[1] = image.plane[1].pitch;
    least_ = 8 * image.plane[1].x0;
    const int end = 8 * image.plane[1].x1;
    most_ = (image.plane[1].width < end ? image.plane[1].width : end) - 1;
    lowest_ = image.plane[1].height - 1;
  }

  // Loads pixels x, ..., x + 3 of row y. x is a multiple of four; y is a row of the crop. Pixels
  // outside the crop have arbitrary values.
  TUNDISH_HOST_DEVICE Samples load(int x, int y) const {
    Samples out;
    out.first = word(at(0, x, y));
    if (chroma_ == Chroma::gray) {
      out.second = out.third = 0x80808080u;
    } else if (chroma_ == Chroma::full) {
      out.second = word(at(1, x, y));
      out.third = word(at(2, x, y));
    } else if (chroma_ == Chroma::smooth_both) {
      const int near = y >> 1, far = beside(near, y), middle = x >> 1;
      const int columns[4] = {column(middle - 1), column(middle), column(middle + 1),
                              column(middle + 2)};
      out.second = both(at(1, 0, near), at(1, 0, far), columns);
      out.third = both(at(2, 0, near), at(2, 0, far), columns);
    } else {
      out.second = rare_chroma(image_, origin_[1], least_, most_, x, y);
      out.third = rare_chroma(image_, origin_[2], least_, most_, x, y);
    }
    return out;
  }

  // Loads pixels x, ..., x + 7; x is a multiple of eight.
  TUNDISH_HOST_DEVICE void load_eight(Samples out[2], int x, int y) const {
    if (chroma_ != Chroma::smooth_both) {
      out[0] = load(x, y);
      out[1] = load(x + 4, y);
      return;
    }
    const Columns columns(*this, x >> 1);
    const int near = y >> 1, far = beside(near, y);
    std::uint32_t second[2], third[2];
    columns.widen(second, at(1, columns.first, near), at(1, columns.first, far));
    columns.widen(third, at(2, columns.first, near), at(2, columns.first, far));
    const std::uint8_t* luma = at(0, x, y);
    TUNDISH_UNROLL(2)
    for (int i = 0; i < 2; ++i) out[i] = {word(luma + 4 * i), second[i], third[i]};
  }

  // Converts to red, green and blue, one byte per pixel.
  TUNDISH_HOST_DEVICE void color(std::uint32_t out[3], const Samples& samples) const {
    if (rgb_) {
      out[0] = samples.first;
      out[1] = samples.second;
      out[2] = samples.third;
      return;
    }
    // Subtracts 128: signed bytes.
    const std::uint32_t blue = samples.second ^ 0x80808080u, red = samples.third ^ 0x80808080u;
    int levels[3][4];
    TUNDISH_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      // lanes::scaled_luma()
      const auto luma = static_cast<int>(
          permute(samples.first, 0x8000u, 0x4054u + 0x100u * static_cast<unsigned>(i)));
      const int b = signed_byte_of(blue, i), r = signed_byte_of(red, i);
      levels[0][i] = lanes::red_of(luma, r);
      levels[1][i] = lanes::green_of(luma, b, r);
      levels[2][i] = lanes::blue_of(luma, b);
    }
    TUNDISH_UNROLL(4)
    for (int c = 0; c < 3; ++c) out[c] = clip_four(levels[c]);
  }

  // Returns one pixel of the padded image.
  TUNDISH_HOST_DEVICE void padded(std::uint8_t out[3], int x, int y) const {
    const int column = padded_index(x, image_.width, image_.pad_mode);
    const int row = padded_index(y, image_.height, image_.pad_mode);
    // The fours may extend beyond what the crop needs.
    const bool there = column >= 8 * image_.plane[0].x0 && column < 8 * image_.plane[0].x1;
    if (!there || row < 0) {
      for (int c = 0; c < 3; ++c) out[c] = image_.fill[c];
      return;
    }
    std::uint32_t channel[3];
    color(channel, load(column & ~3, row));
    for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(byte_of(channel[c], column & 3));
  }

 private:
  static TUNDISH_HOST_DEVICE std::uint32_t word(const std::uint8_t* at) {
    std::uint32_t out;
    std::memcpy(&out, __builtin_assume_aligned(at, 4), sizeof out);
    return out;
  }
  // Returns sample (x, y) of a component. 65534 rows of 65536 bytes fit into 32 bits.
  TUNDISH_HOST_DEVICE const std::uint8_t* at(int c, int x, int y) const {
    return origin_[c] +
           (static_cast<std::uint32_t>(y) * pitch_[c == 0 ? 0 : 1] + static_cast<std::uint32_t>(x));
  }
  // Repeats the outermost samples beyond the edges; reads nothing outside the plane.
  TUNDISH_HOST_DEVICE int column(int i) const { return clamped(i, least_, most_); }
  TUNDISH_HOST_DEVICE int beside(int near, int y) const {
    return clamped(near + ((y & 1) != 0 ? 1 : -1), 0, lowest_);
  }

  static TUNDISH_HOST_DEVICE std::uint32_t both(const std::uint8_t* near, const std::uint8_t* far,
                                                const int at[4]) {
    int sum[4];
    TUNDISH_UNROLL(4)
    for (int i = 0; i < 4; ++i) sum[i] = 3 * near[at[i]] + far[at[i]];
    return static_cast<std::uint32_t>(lanes::smooth_sums(sum[1], sum[0], false)) |
           static_cast<std::uint32_t>(lanes::smooth_sums(sum[1], sum[2], true)) << 8 |
           static_cast<std::uint32_t>(lanes::smooth_sums(sum[2], sum[1], false)) << 16 |
           static_cast<std::uint32_t>(lanes::smooth_sums(sum[2], sum[3], true)) << 24;
  }

  // Four columns of chroma, upsampled to eight: both() with two columns to a word.
  struct Columns {
    int first;             // first of the four columns
    int before, behind;    // offsets of the columns beside the four, from the first
    std::uint32_t inside;  // selects the four bytes; repeats the plane's last byte beyond it

    TUNDISH_HOST_DEVICE Columns(const FourPixels& pixels, int first)
        : first(first),
          before(first > pixels.least_ ? -1 : 0),
          behind(pixels.most_ - first < 4 ? pixels.most_ - first : 4) {
      const int last = behind < 3 ? behind : 3;
      inside = permute(0x11100000u, 0x32102210u, 0x4410u + 0x22u * static_cast<unsigned>(last));
    }

    // `near` and `far` point to rows, at the first column.
    TUNDISH_HOST_DEVICE void widen(std::uint32_t out[2], const std::uint8_t* near,
                                   const std::uint8_t* far) const {
      constexpr std::uint32_t kLow = 0x00ff00ffu;
      const std::uint32_t near_four = permute(word(near), 0, inside);
      const std::uint32_t far_four = permute(word(far), 0, inside);
      const std::uint32_t even = 3 * (near_four & kLow) + (far_four & kLow);
      const std::uint32_t odd = 3 * (near_four >> 8 & kLow) + (far_four >> 8 & kLow);
      const std::uint32_t left = permute(3u * near[before] + far[before], odd, 0x5410);
      const std::uint32_t right = permute(even, 3u * near[behind] + far[behind], 0x5432);
      // lanes::smooth_sums(); the results are in bytes 0 and 2.
      const std::uint32_t even_left = (3 * even + left + 0x00080008u) >> 4;
      const std::uint32_t even_right = (3 * even + odd + 0x00070007u) >> 4;
      const std::uint32_t odd_left = (3 * odd + even + 0x00080008u) >> 4;
      const std::uint32_t odd_right = (3 * odd + right + 0x00070007u) >> 4;
      const std::uint32_t of_even = permute(even_left, even_right, 0x6240);
      const std::uint32_t of_odd = permute(odd_left, odd_right, 0x6240);
      out[0] = permute(of_even, of_odd, 0x5410);
      out[1] = permute(of_even, of_odd, 0x7632);
    }
  };

  const ImageTask& image_;
  Chroma chroma_;
  bool rgb_;
  const std::uint8_t* origin_[3];
  std::uint32_t pitch_[2];
  int least_, most_;  // first and last chroma column of the plane
  int lowest_;        // last row of chroma
};

}  // namespace tundish::cuda
