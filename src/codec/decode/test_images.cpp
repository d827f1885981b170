#include "codec/decode/test_images.h"

#include <doctest/doctest.h>
#include <png.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish {

std::vector<std::uint8_t> test_pixels(int width, int height, int channels, std::uint64_t seed) {
  Random random({.seed = seed}, 0);
  std::vector<std::uint8_t> out;
  out.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height * channels));
  const std::uint64_t slope[4] = {random.below(9), random.below(9), random.below(9),
                                  random.below(9)};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const auto smooth = static_cast<std::uint64_t>(x) * slope[c] +
                            static_cast<std::uint64_t>(y) * slope[(c + 1) & 3];
        const std::uint64_t edge = ((x >> 2) ^ (y >> 3)) % 5 == c ? 120 : 0;
        out.push_back(static_cast<std::uint8_t>(smooth + edge + random.below(40)));
      }
    }
  }
  return out;
}

ByteVector make_jpeg(int width, int height, const JpegKind& kind, std::uint64_t seed) {
  static constexpr J_COLOR_SPACE kIn[] = {JCS_RGB, JCS_RGB, JCS_GRAYSCALE, JCS_CMYK, JCS_CMYK};
  static constexpr J_COLOR_SPACE kCoded[] = {JCS_YCbCr, JCS_RGB, JCS_GRAYSCALE, JCS_CMYK, JCS_YCCK};
  const auto which = static_cast<std::size_t>(kind.color);
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { std::abort(); };  // a test requested an impossible kind
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.in_color_space = kIn[which];
  info.input_components = kIn[which] == JCS_GRAYSCALE ? 1 : kIn[which] == JCS_RGB ? 3 : 4;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kCoded[which]);
  jpeg_set_quality(&info, kind.quality, TRUE);
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = kind.h[c];
    info.comp_info[c].v_samp_factor = kind.v[c];
  }
  info.restart_in_rows = kind.restart_rows;
  info.restart_interval = static_cast<unsigned>(kind.restart_mcus);
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!kind.exif.empty()) {
    const std::string segment = std::string("Exif\0\0", 6) + std::string(kind.exif);
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                      static_cast<unsigned>(segment.size()));
  }
  std::vector<std::uint8_t> pixels = test_pixels(width, height, info.input_components, seed);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<std::size_t>(y * width) *
                                       static_cast<std::size_t>(info.input_components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  ByteVector out(begin, begin + size);
  std::free(memory);
  return out;
}

namespace {

void append_u32(ByteVector& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(std::byte(value >> shift & 0xff));
}

void append(ByteVector& out, const ByteVector& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

ByteVector bytes_of(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return ByteVector(begin, begin + text.size());
}

ByteVector png_chunk(std::string_view type, const ByteVector& data) {
  ByteVector checked = bytes_of(type);
  append(checked, data);
  ByteVector out;
  out.reserve(data.size() + 12);
  append_u32(out, static_cast<std::uint32_t>(data.size()));
  append(out, checked);
  append_u32(out, static_cast<std::uint32_t>(
                      crc32(0, reinterpret_cast<const unsigned char*>(checked.data()),
                            static_cast<unsigned>(checked.size()))));
  return out;
}

ByteVector png_file(const std::vector<ByteVector>& chunks) {
  ByteVector out = bytes_of("\x89PNG\r\n\x1a\n");
  for (const ByteVector& chunk : chunks) append(out, chunk);
  return out;
}

ByteVector png_ihdr(std::uint32_t width, std::uint32_t height, int depth, int color,
                    bool interlaced) {
  ByteVector data;
  append_u32(data, width);
  append_u32(data, height);
  for (const int value : {depth, color, 0, 0, interlaced ? 1 : 0}) {
    data.push_back(std::byte(static_cast<unsigned char>(value)));
  }
  return png_chunk("IHDR", data);
}

ByteVector png_idat(const ByteVector& rows) {
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  ByteVector data(size);
  compress2(reinterpret_cast<Bytef*>(data.data()), &size,
            reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()), 6);
  data.resize(size);
  return png_chunk("IDAT", data);
}

ByteVector make_png(int width, int height, int depth, int color, bool interlaced,
                    std::uint64_t seed, int colors) {
  ByteVector out;
  png_structp png = png_create_write_struct(
      PNG_LIBPNG_VER_STRING, nullptr, [](png_structp, png_const_charp) { std::abort(); },
      [](png_structp, png_const_charp) {});
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, std::size_t count) {
        auto& to = *static_cast<ByteVector*>(png_get_io_ptr(p));
        const auto* begin = reinterpret_cast<const std::byte*>(data);
        to.insert(to.end(), begin, begin + count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth,
               color, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (color == PNG_COLOR_TYPE_PALETTE) {
    Random random({.seed = seed}, 1);
    std::vector<png_color> palette(static_cast<std::size_t>(colors));
    for (png_color& entry : palette) {
      entry = {static_cast<png_byte>(random.below(256)), static_cast<png_byte>(random.below(256)),
               static_cast<png_byte>(random.below(256))};
    }
    png_set_PLTE(png, info, palette.data(), colors);
  }
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  std::vector<std::uint8_t> pixels = test_pixels(static_cast<int>(row_bytes), height, 1, seed);
  if (color == PNG_COLOR_TYPE_PALETTE && depth == 8) {
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(pixel % colors);
  }
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < height; ++y) {
      png_write_row(png, pixels.data() + static_cast<std::size_t>(y) * row_bytes);
    }
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

ByteVector make_npy(std::string_view dictionary, std::size_t data_bytes, int version) {
  ByteVector out = bytes_of("\x93NUMPY");
  out.push_back(std::byte(static_cast<unsigned char>(version)));
  out.push_back(std::byte{0});
  const std::size_t length = dictionary.size() + 1;
  for (std::size_t i = 0; i < (version == 1 ? 2u : 4u); ++i) {
    out.push_back(std::byte(length >> (8 * i) & 0xff));
  }
  append(out, bytes_of(dictionary));
  out.push_back(std::byte{'\n'});
  for (std::size_t i = 0; i < data_bytes; ++i) out.push_back(std::byte(i * 37 & 0xff));
  return out;
}

void Picture::push(const Strip& strip) {
  REQUIRE(strip.y == window.y + rows);
  REQUIRE(strip.x <= window.x);
  REQUIRE(strip.x + strip.width >= window.x + window.width);
  REQUIRE(rows + strip.rows <= window.height);
  const std::uint8_t* row = strip.pixels + std::ptrdiff_t{window.x - strip.x} * 3;
  for (int y = 0; y < strip.rows; ++y, row += strip.stride) {
    pixels.insert(pixels.end(), row, row + std::ptrdiff_t{window.width} * 3);
  }
  rows += strip.rows;
}

std::vector<std::uint8_t> decode_window(Bytes bytes, Window window) {
  ImageHeader header;
  const auto bad_header = read_header(header, bytes);
  INFO((bad_header ? bad_header->reason : std::string()));
  REQUIRE_FALSE(bad_header.has_value());
  Picture picture(window);
  DecodeScratch scratch;
  const auto fault = decode(picture, bytes, header, window, scratch);
  INFO((fault ? fault->reason : std::string()));
  REQUIRE_FALSE(fault.has_value());
  REQUIRE(picture.rows == window.height);
  return picture.pixels;
}

ErrorCode fault_of(Bytes bytes, const Limits& limits) {
  ImageHeader header;
  if (const auto fault = read_header(header, bytes, limits)) return fault->code;
  const Window window{0, 0, static_cast<int>(header.width), static_cast<int>(header.height)};
  Picture picture(window);
  DecodeScratch scratch;
  const auto fault = decode(picture, bytes, header, window, scratch, limits);
  if (!fault) CHECK(picture.rows == window.height);
  return fault ? fault->code : ErrorCode::none;
}

std::vector<std::uint8_t> cut(const std::vector<std::uint8_t>& rgb, int width, Window window) {
  std::vector<std::uint8_t> out;
  for (int y = 0; y < window.height; ++y) {
    const auto row = rgb.begin() + (std::ptrdiff_t{window.y + y} * width + window.x) * 3;
    out.insert(out.end(), row, row + std::ptrdiff_t{window.width} * 3);
  }
  return out;
}

Window random_window(Random& random, int width, int height) {
  const auto side = [&](int size, int& start, int& length) {
    const std::uint64_t kind = random.below(6);
    const auto whole = static_cast<std::uint64_t>(size);
    length = kind == 0 ? 1 : kind == 1 ? size : 1 + static_cast<int>(random.below(whole));
    const auto room = static_cast<std::uint64_t>(size - length);
    start = kind == 2 ? 0 : kind == 3 ? size - length : static_cast<int>(random.below(room + 1));
  };
  Window window;
  side(width, window.x, window.width);
  side(height, window.y, window.height);
  return window;
}

}  // namespace tundish
