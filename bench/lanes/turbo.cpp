#include "turbo.h"

#include <algorithm>
#include <cstdio>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish::bench {
namespace {

// Creates a decompressor for one image; `use` runs between reading the header and the end.
template <typename Use>
void with_turbo(const Image& image, const Use& use) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.jpeg.data()), image.jpeg.size());
  jpeg_read_header(&info, TRUE);
  use(info);
  jpeg_destroy_decompress(&info);
}

}  // namespace

void read_turbo_coefficients(const Image& image) {
  with_turbo(image, [](jpeg_decompress_struct& info) { jpeg_read_coefficients(&info); });
}

void TurboCrop::run(std::uint8_t* out, const Image& image) {
  Picture picture(out);
  resample_.begin(step_of(image.crop), image.size, picture);
  with_turbo(image, [&](jpeg_decompress_struct& info) {
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    constexpr int kMargin = 32;
    const Window& crop = image.crop;
    JDIMENSION x = 0, width = info.output_width;
    int row = 0, end = image.size.height;
    if (region_) {
      const int left = std::max(0, crop.x - kMargin);
      const int right = std::min(image.size.width, crop.x + crop.width + kMargin);
      x = static_cast<JDIMENSION>(left);
      width = static_cast<JDIMENSION>(right - left);
      jpeg_crop_scanline(&info, &x, &width);
      row = crop.y;
      end = crop.y + crop.height;
      if (row > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(row));
    }
    constexpr int kRows = 16;
    const std::size_t stride = std::size_t{3} * width;
    rows_.resize(std::max(rows_.size(), stride * kRows));
    while (row < end) {
      const int count = std::min(kRows, end - row);
      for (int i = 0; i < count;) {
        JSAMPROW to = rows_.data() + static_cast<std::size_t>(i) * stride;
        i += static_cast<int>(jpeg_read_scanlines(&info, &to, 1));
      }
      resample_.push({rows_.data(), static_cast<std::ptrdiff_t>(stride), static_cast<int>(x), row,
                      static_cast<int>(width), count});
      row += count;
    }
    jpeg_abort_decompress(&info);
  });
  resample_.finish();
}

}  // namespace tundish::bench
