#include "codec/decode/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "codec/decode/png_expand.h"
#include "codec/decode/png_inflate.h"
#include "codec/decode/png_transparency.h"
#include "codec/decode/png_unfilter.h"

namespace tundish {
namespace {

// Contents of the rows that libpng delivers.
enum class Rows { rgb, rgba, palette, gray16 };

// As in jpeg.cpp, longjmp stays inside the functions that call the library.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  Bytes bytes;
  std::size_t at = 0;
  ErrorCode code = ErrorCode::none;
  char reason[96] = {};

  Rows rows = Rows::rgb;
  bool interlaced = false;
  PngKind kind;
  bool keep16 = false;
  bool keep_alpha = false;
  std::size_t row_bytes = 0;
  std::uint8_t palette[256][3] = {};  // missing entries are black
  PngTransparency transparency{};     // used with keep_alpha

  explicit Reader(Bytes coded) : bytes(coded) {}
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Fault fault() const { return {code, reason, at}; }
};

[[noreturn]] void fail(Reader& reader, ErrorCode code, const char* reason) {
  reader.code = code;
  std::snprintf(reader.reason, sizeof reader.reason, "%s", reason);
  std::longjmp(reader.jump, 1);
}

// libpng's errors have no codes, only texts.
ErrorCode code_of(const char* text) {
  if (std::strstr(text, "emory") != nullptr) return ErrorCode::no_memory;  // "Out of memory", ...
  if (std::strstr(text, "Not enough image data") != nullptr) return ErrorCode::image_cut_off;
  return ErrorCode::image_damaged;
}

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  fail(*static_cast<Reader*>(png_get_error_ptr(png)), code_of(text), text);
}

// Ignores warnings, like Pillow.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, std::size_t count) {
  Reader& reader = *static_cast<Reader*>(png_get_io_ptr(png));
  if (reader.bytes.size() - reader.at < count) {
    reader.at = reader.bytes.size();
    fail(reader, ErrorCode::image_cut_off, "the file ends before the last row");
  }
  std::memcpy(to, reader.bytes.data() + reader.at, count);
  reader.at += count;
}

bool open(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) fail(reader, ErrorCode::no_memory, "no memory for libpng");
  png_set_read_fn(reader.png, &reader, on_read);
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // checked already
  // Only IHDR, PLTE and IDAT are used; other chunks are checked and skipped without memory.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER,
                              reinterpret_cast<png_const_bytep>("tRNS"), 1);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(reader.png, reader.info);
  return true;
}

bool start(Reader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  png_structp png = reader.png;
  const int depth = png_get_bit_depth(png, reader.info);
  const int color = png_get_color_type(png, reader.info);
  reader.kind = {.depth = depth, .color = color, .keep_alpha = reader.keep_alpha};
  if (color == PNG_COLOR_TYPE_PALETTE) {
    reader.rows = Rows::palette;
    png_set_packing(png);
  } else if (color == PNG_COLOR_TYPE_GRAY && depth == 16) {
    reader.rows = Rows::gray16;
  } else {
    if (depth == 16) png_set_strip_16(png);
    if (color == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
    if (has_alpha && reader.keep_alpha) reader.rows = Rows::rgba;
    if (has_alpha && !reader.keep_alpha) png_set_strip_alpha(png);
    if ((color & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  }
  reader.interlaced = png_set_interlace_handling(png) > 1;
  png_read_update_info(png, reader.info);
  reader.row_bytes = png_get_rowbytes(png, reader.info);

  if (reader.keep_alpha) {
    reader.transparency = read_transparency(reader.bytes, depth, color);
  }
  png_colorp colors = nullptr;
  int count = 0;
  if (png_get_PLTE(png, reader.info, &colors, &count) != 0) {
    for (int i = 0; i < count && i < 256; ++i) {
      reader.palette[i][0] = colors[i].red;
      reader.palette[i][1] = colors[i].green;
      reader.palette[i][2] = colors[i].blue;
    }
  }
  return true;
}

bool read_row(Reader& reader, png_bytep row) {
  if (setjmp(reader.jump) != 0) return false;
  png_read_row(reader.png, row, nullptr);
  return true;
}

// Converts `width` pixels of a row in another format to RGB.
void to_rgb(std::uint8_t* to, const std::uint8_t* row, const Reader& reader, std::size_t x,
            std::size_t width) {
  for (std::size_t i = x; i < x + width; ++i, to += 3) {
    if (reader.rows == Rows::palette) {
      std::memcpy(to, reader.palette[row[i]], 3);
    } else if (reader.rows == Rows::rgba) {
      std::memcpy(to, row + 4 * i, 3);
    } else if (reader.keep16) {
      to[0] = row[2 * i + 1];
      to[1] = row[2 * i];
      to[2] = 0;
    } else {  // 16-bit gray: Pillow clips at 255 and does not scale
      to[0] = to[1] = to[2] = row[2 * i] != 0 ? 255 : row[2 * i + 1];
    }
  }
}

// Writes the alpha of the pixels `rgb`, which to_rgb() made from the row.
void to_alpha(std::uint8_t* to, const std::uint8_t* row, const std::uint8_t* rgb,
              const Reader& reader, std::size_t x, std::size_t width) {
  if (reader.rows == Rows::rgba) {
    for (std::size_t i = 0; i < width; ++i) to[i] = row[4 * (x + i) + 3];
  } else if (reader.rows == Rows::palette) {
    for (std::size_t i = 0; i < width; ++i) to[i] = reader.transparency.alpha[row[x + i]];
  } else {
    std::memset(to, 255, width);
    if (!reader.transparency.color) return;
    const std::uint8_t* const color = reader.transparency.color->data();
    for (std::size_t i = 0; i < width; ++i) {
      if (std::memcmp(rgb + 3 * i, color, 3) == 0) to[i] = 0;
    }
  }
}

// Collects RGB rows and pushes them as strips.
class Strips {
 public:
  Strips(StripSink& sink, const Reader& reader, const Window& window, std::uint8_t* memory)
      : sink_(sink), reader_(reader), window_(window), memory_(memory) {}

  static std::size_t bytes(const Window& window) {
    return static_cast<std::size_t>(window.width) * 4 * kRowsPerStrip;
  }

  void add(const std::uint8_t* row) {
    const auto x = static_cast<std::size_t>(window_.x);
    const auto width = static_cast<std::size_t>(window_.width);
    std::uint8_t* to = memory_ + static_cast<std::size_t>(rows_) * width * 3;
    if (reader_.rows == Rows::rgb) {
      std::memcpy(to, row + x * 3, width * 3);
    } else {
      to_rgb(to, row, reader_, x, width);
    }
    std::uint8_t* const alpha = memory_ + 3 * width * kRowsPerStrip;
    if (reader_.keep_alpha) {
      to_alpha(alpha + static_cast<std::size_t>(rows_) * width, row, to, reader_, x, width);
    }
    ++rows_;
    if (rows_ < kRowsPerStrip && done_ + rows_ < window_.height) return;
    sink_.push({.pixels = memory_,
                .stride = std::ptrdiff_t{window_.width} * 3,
                .x = window_.x,
                .y = window_.y + done_,
                .width = window_.width,
                .rows = rows_,
                .alpha = reader_.keep_alpha ? alpha : nullptr,
                .alpha_stride = window_.width});
    done_ += rows_;
    rows_ = 0;
  }

 private:
  StripSink& sink_;
  const Reader& reader_;
  const Window window_;
  std::uint8_t* const memory_;
  int rows_ = 0;  // rows in memory
  int done_ = 0;  // rows pushed
};

// Pushes the window's rows after inflating the whole image. Returns false, with nothing pushed, if
// libpng has to decode the image.
bool push_inflated(Strips& strips, const Reader& reader, const ImageHeader& header,
                   const Window& window, std::vector<std::uint8_t>& memory, std::size_t used) {
  const std::uint64_t row_bytes = png_row_bytes(reader.kind, header.width);
  const std::uint64_t raw_bytes = (row_bytes + 1) * header.height;
  const int end = window.y + window.height;
  // libpng inflates only as much as the window needs.
  if (raw_bytes > kMaxInflatedPng || 2 * std::int64_t{end} < header.height) return false;
  std::uint8_t* const raw = memory.data() + used;
  // libpng has already read the length and type of the first IDAT.
  if (!inflate_png({raw, raw_bytes}, raw + raw_bytes, reader.bytes.subspan(reader.at - 8))) {
    return false;
  }
  const std::size_t bytes = row_bytes, pixel = png_pixel_bytes(reader.kind);
  for (int y = 0; y < end; ++y) {
    if (raw[static_cast<std::size_t>(y) * (bytes + 1)] > 4) return false;
  }
  for (int y = 0; y < end; ++y) {
    std::uint8_t* const row = raw + static_cast<std::size_t>(y) * (bytes + 1);
    unfilter_row(row[0], row + 1, y > 0 ? row - bytes : nullptr, bytes, pixel);
    if (y >= window.y) {
      strips.add(expand_png_row(memory.data(), row + 1, reader.kind, header.width));
    }
  }
  return true;
}

}  // namespace

std::optional<Fault> decode_png(StripSink& sink, Bytes bytes, const ImageHeader& header,
                                Window window, DecodeScratch& scratch, PngPath path) {
  Reader reader(bytes);
  if (!open(reader)) return reader.fault();
  const png_uint_32 width = png_get_image_width(reader.png, reader.info);
  const png_uint_32 height = png_get_image_height(reader.png, reader.info);
  if (width != header.width || height != header.height) {
    return Fault{ErrorCode::image_header, fmt::format("{} x {} pixels where {} x {} were expected",
                                                      width, height, header.width, header.height)};
  }
  reader.keep16 = header.keep16;
  reader.keep_alpha = header.keep_alpha;
  if (!start(reader)) return reader.fault();

  // The rows of an interlaced image are complete only after the last pass.
  const std::size_t kept_rows = reader.interlaced ? height : 1;
  const std::size_t used = kept_rows * reader.row_bytes + Strips::bytes(window);
  const bool may_inflate = path == PngPath::fastest && !reader.interlaced;
  const std::size_t need =
      used + (may_inflate ? inflated_png_bytes(reader.kind, header, bytes) : 0);
  if (scratch.rows.size() < need) scratch.rows.resize(need);
  std::uint8_t* kept = scratch.rows.data();
  Strips strips(sink, reader, window, kept + kept_rows * reader.row_bytes);
  const auto first = static_cast<png_uint_32>(window.y);
  const png_uint_32 end = first + static_cast<png_uint_32>(window.height);

  if (may_inflate && push_inflated(strips, reader, header, window, scratch.rows, used)) {
    return std::nullopt;
  }
  if (!reader.interlaced) {
    for (png_uint_32 y = 0; y < end; ++y) {
      if (!read_row(reader, kept)) return reader.fault();
      if (y >= first) strips.add(kept);
    }
    return std::nullopt;
  }
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) {
      if (!read_row(reader, kept + y * reader.row_bytes)) return reader.fault();
    }
  }
  for (png_uint_32 y = first; y < end; ++y) strips.add(kept + y * reader.row_bytes);
  return std::nullopt;
}

}  // namespace tundish
