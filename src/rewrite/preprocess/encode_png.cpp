#include "rewrite/preprocess/encode_png.h"

#include <png.h>

#include <csetjmp>
#include <new>

namespace tundish {
namespace {

// zlib's default: level 9 takes three times as long to save one percent.
constexpr int kLevel = 6;

struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  std::vector<std::byte>* out = nullptr;

  Writer() = default;
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp) {
  std::longjmp(static_cast<Writer*>(png_get_error_ptr(png))->jump, 1);
}

void append(png_structp png, png_bytep bytes, std::size_t count) {
  auto& out = *static_cast<Writer*>(png_get_io_ptr(png))->out;
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  out.insert(out.end(), begin, begin + count);
}

// libpng reports an error by longjmp, so no local variable may have a destructor.
bool write(Writer& writer, const PngRows& rows, std::size_t stride, int kind) {
  if (setjmp(writer.jump) != 0) return false;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_error,
                                       [](png_structp, png_const_charp) {});
  if (writer.png == nullptr) return false;
  writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) return false;
  png_set_write_fn(writer.png, &writer, append, nullptr);
  png_set_user_limits(writer.png, 0x7fffffff, 0x7fffffff);
  png_set_compression_level(writer.png, kLevel);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(rows.size.width),
               static_cast<png_uint_32>(rows.size.height), rows.deep ? 16 : 8, kind,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  if (rows.deep) png_set_swap(writer.png);
  for (std::size_t y = 0; y < static_cast<std::size_t>(rows.size.height); ++y) {
    png_write_row(writer.png, rows.first + y * stride);
  }
  png_write_end(writer.png, writer.info);
  return true;
}

}  // namespace

void encode_png(std::vector<std::byte>& out, const PngRows& rows) {
  const std::size_t stride = static_cast<std::size_t>(rows.size.width) *
                             static_cast<std::size_t>(rows.channels) * (rows.deep ? 2 : 1);
  const auto height = static_cast<std::size_t>(rows.size.height);
  const std::size_t bytes = stride * height;
  out.clear();
  // The worst case of deflate for noise, so that appending allocates no memory inside libpng.
  out.reserve(bytes + bytes / 512 + height + 4096);
  Writer writer;
  writer.out = &out;
  const int kind = rows.channels == 1   ? PNG_COLOR_TYPE_GRAY
                   : rows.channels == 3 ? PNG_COLOR_TYPE_RGB
                                        : PNG_COLOR_TYPE_RGB_ALPHA;
  if (!write(writer, rows, stride, kind)) throw std::bad_alloc();
}

void encode_png(std::vector<std::byte>& out, const RgbImage& pixels, bool gray) {
  std::vector<std::uint8_t> levels;
  if (gray) {
    levels.resize(pixels.rgb.size() / 3);
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = pixels.rgb[3 * i];
  }
  const std::vector<std::uint8_t>& rows = gray ? levels : pixels.rgb;
  encode_png(out, {.first = rows.data(), .size = pixels.size, .channels = gray ? 1 : 3});
}

}  // namespace tundish
