// The rows of a warped image, once per instruction set. No function accesses memory outside of the
// image and the row.
#pragma once

#include "augment/pixels/warp/warp_ops.h"

namespace tundish {

struct WarpRows {
  const PixelStep& step;
  const double* value;  // the step's: files for one instruction set call no std::array
  Pixels image;
  std::uint8_t* to;
  Size size;                 // size of the result
  const std::uint8_t* fill;  // one row of fill

  std::uint8_t* row(int y) const { return to + std::size_t{3} * std::size_t(y) * stride(); }
  std::size_t stride() const { return static_cast<std::size_t>(size.width); }
};

// A run of pixels that are all inside the image. Places have 16 fractional bits.
struct FixedRow {
  std::int32_t x, y;                // place of the first pixel
  std::int32_t x_across, y_across;  // steps to the next pixel
};

// For every machine. wrapping_row_baseline: a row of NearestWay::fixed whose sums wrap around.
// wide_rows_baseline: all rows of NearestWay::wide.
void sample_row_baseline(const WarpRows& rows, int y);
void fixed_row_baseline(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n);
void wrapping_row_baseline(const WarpRows& rows, const NearestAffine& affine, int y);
void wide_rows_baseline(const WarpRows& rows);

// Copies n pixels, which must not include the image's last pixel. `offsets` has room for n + 16
// numbers.
void fixed_row_avx2(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n,
                    std::int32_t* offsets);
void fixed_row_avx512(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n,
                      std::int32_t* offsets);

// Copies n pixels at the given byte offsets, which must not include the image's last pixel.
void copy_pixels_avx2(std::uint8_t* to, const std::uint8_t* from, const std::int32_t* offsets,
                      int n);

// Computes row y of the result by shown_place(). The image has fewer than 2^31 bytes.
void sample_row_avx2(const WarpRows& rows, int y);
void sample_row_avx512(const WarpRows& rows, int y);

}  // namespace tundish
