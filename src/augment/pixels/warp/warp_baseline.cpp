#include "augment/pixels/warp/warp_rows.h"

namespace tundish {

void sample_row_baseline(const WarpRows& rows, int y) {
  std::uint8_t* to = rows.row(y);
  for (int x = 0; x < rows.size.width; ++x, to += 3) {
    const Spot place = shown_place(rows.step, x, y);
    if (is_inside(place, rows.image.width, rows.image.height)) {
      sample_pixel(to, rows.image, rows.step.filter, place);
    } else {
      copy_pixel(to, rows.fill);
    }
  }
}

void fixed_row_baseline(std::uint8_t* to, const Pixels& image, const FixedRow& row, int n) {
  std::int32_t x = row.x, y = row.y;
  for (int i = 0; i < n; ++i, to += 3, x += row.x_across, y += row.y_across) {
    copy_pixel(to, image.at(x >> 16, y >> 16));
  }
}

void wrapping_row_baseline(const WarpRows& rows, const NearestAffine& affine, int y) {
  std::uint8_t* to = rows.row(y);
  for (int x = 0; x < rows.size.width; ++x, to += 3) {
    const int from_x = fixed_x(affine, x, y) >> 16, from_y = fixed_y(affine, x, y) >> 16;
    const bool inside =
        from_x >= 0 && from_x < rows.image.width && from_y >= 0 && from_y < rows.image.height;
    copy_pixel(to, inside ? rows.image.at(from_x, from_y) : rows.fill);
  }
}

void wide_rows_baseline(const WarpRows& rows) {
  const NearestAffine affine = nearest_affine(rows.step, rows.size);
  Spot first{affine.wide_x, affine.wide_y};
  for (int y = 0; y < rows.size.height; ++y) {
    Spot place = first;
    std::uint8_t* to = rows.row(y);
    for (int x = 0; x < rows.size.width; ++x, to += 3) {
      if (is_inside(place, rows.image.width, rows.image.height)) {
        sample_nearest(to, rows.image, place);
      } else {
        copy_pixel(to, rows.fill);
      }
      place = {place.x + affine.across[0], place.y + affine.across[1]};
    }
    first = {first.x + affine.down[0], first.y + affine.down[1]};
  }
}

}  // namespace tundish
