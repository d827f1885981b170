#include "preprocess/encode_png.h"

#include <png.h>

#include <csetjmp>
#include <new>

namespace tundish {
namespace {

// zlib's own default: level 9 takes three times as long for one percent.
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

// libpng leaves an error by longjmp, so nothing in here may have a destructor.
bool write(Writer& writer, const std::uint8_t* rows, std::size_t stride, Size size, bool grey) {
  if (setjmp(writer.jump) != 0) return false;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_error,
                                       [](png_structp, png_const_charp) {});
  if (writer.png == nullptr) return false;
  writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) return false;
  png_set_write_fn(writer.png, &writer, append, nullptr);
  png_set_user_limits(writer.png, 0x7fffffff, 0x7fffffff);
  png_set_compression_level(writer.png, kLevel);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(size.width),
               static_cast<png_uint_32>(size.height), 8,
               grey ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
    png_write_row(writer.png, rows + y * stride);
  }
  png_write_end(writer.png, writer.info);
  return true;
}

}  // namespace

void encode_png(std::vector<std::byte>& out, const Pixels& pixels, bool grey) {
  std::vector<std::uint8_t> levels;
  if (grey) {
    levels.resize(pixels.rgb.size() / 3);
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = pixels.rgb[3 * i];
  }
  out.clear();
  // The worst that deflate makes of noise, so that appending takes no memory inside the library.
  const std::vector<std::uint8_t>& rows = grey ? levels : pixels.rgb;
  out.reserve(rows.size() + rows.size() / 512 + static_cast<std::size_t>(pixels.size.height) +
              4096);
  Writer writer;
  writer.out = &out;
  const auto stride = static_cast<std::size_t>(pixels.size.width) * (grey ? 1 : 3);
  if (!write(writer, rows.data(), stride, pixels.size, grey)) throw std::bad_alloc();
}

}  // namespace tundish
