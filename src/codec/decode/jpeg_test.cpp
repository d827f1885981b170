#include "codec/decode/jpeg.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "base/testing.h"
#include "codec/decode/test_images.h"

// jpeglib.h requires size_t and FILE to be declared first.
#include <jpeglib.h>

namespace tundish {
namespace {

using namespace std::string_literals;

// Reference implementation: decodes the whole image with the simplest use of libjpeg.
std::vector<std::uint8_t> decode_plainly(const ByteVector& bytes) {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  const std::size_t stride =
      std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
  std::vector<std::uint8_t> pixels(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels.data() + info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  if (info.output_components == 4) {
    std::vector<std::uint8_t> rgb;
    for (std::size_t i = 0; i < pixels.size(); i += 4) {
      for (std::size_t c = 0; c < 3; ++c) {
        const int ink = 255 - pixels[i + c];
        const int not_black = pixels[i + 3];
        // Rounded ink * not_black / 255, as in Pillow's integer form.
        rgb.push_back(static_cast<std::uint8_t>(not_black - (ink * not_black * 2 + 255) / 510));
      }
    }
    pixels = rgb;
  }
  jpeg_destroy_decompress(&info);
  return pixels;
}

ByteVector first(const ByteVector& bytes, std::size_t count) {
  return ByteVector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

std::size_t find_marker(const ByteVector& bytes, int marker) {
  std::size_t at = 0;
  while (bytes[at] != std::byte{0xff} || std::to_integer<int>(bytes[at + 1]) != marker) ++at;
  return at;
}

struct Named {
  std::string name;
  JpegKind kind;
};

JpegKind sampled(int h, int v, JpegColor color = JpegColor::ycc) {
  return {.color = color, .h = {h, 1, 1, h}, .v = {v, 1, 1, v}};
}

std::vector<Named> kinds() {
  std::vector<Named> samplings = {{"4:4:4", sampled(1, 1)},
                                  {"4:2:2", sampled(2, 1)},
                                  {"4:2:0", sampled(2, 2)},
                                  {"4:4:0", sampled(1, 2)},
                                  {"4:1:1", sampled(4, 1)},
                                  {"4:1:0", sampled(4, 2)},
                                  {"2x4", sampled(2, 4)},
                                  {"1x4", sampled(1, 4)},
                                  {"3x1", sampled(3, 1)},
                                  {"1x3", sampled(1, 3)},
                                  {"rgb", sampled(1, 1, JpegColor::rgb)},
                                  {"rgb 2x2", sampled(2, 2, JpegColor::rgb)},
                                  {"gray", sampled(1, 1, JpegColor::gray)},
                                  {"gray 2x2", sampled(2, 2, JpegColor::gray)},
                                  {"cmyk", sampled(1, 1, JpegColor::cmyk)},
                                  {"ycck", sampled(1, 1, JpegColor::ycck)},
                                  {"ycck 2x2", sampled(2, 2, JpegColor::ycck)},
                                  // components with different sampling, and chroma finer than luma
                                  {"2x2,1x2,2x1", {.h = {2, 1, 2}, .v = {2, 2, 1}}},
                                  {"1x1,2x2,1x1", {.h = {1, 2, 1}, .v = {1, 2, 1}}},
                                  {"2x1,1x1,2x1", {.h = {2, 1, 2}, .v = {1, 1, 1}}},
                                  {"2x2,2x1,1x1", {.h = {2, 2, 1}, .v = {2, 1, 1}}},
                                  {"4x1,2x1,1x1", {.h = {4, 2, 1}, .v = {1, 1, 1}}},
                                  {"1x2,1x1,1x2", {.h = {1, 1, 1}, .v = {2, 1, 2}}}};
  std::vector<Named> all;
  for (const Named& base : samplings) {
    for (int variant = 0; variant < 6; ++variant) {
      Named named = base;
      JpegKind& kind = named.kind;
      if (variant == 1) kind.progressive = true, named.name += " progressive";
      if (variant == 2) kind.restart_rows = 1, named.name += " restart per row";
      if (variant == 3) kind.restart_mcus = 3, named.name += " restart per 3";
      if (variant == 4) kind.arithmetic = true, named.name += " arithmetic";
      if (variant == 5) {
        kind.arithmetic = kind.progressive = true, kind.restart_mcus = 5;
        named.name += " arithmetic progressive restart";
      }
      all.push_back(named);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a window of a JPEG equals that window of libjpeg's full decode, for every kind") {
  Random random({.seed = 20}, 0);
  for (const Named& named : kinds()) {
    for (const int size : {40, 200}) {
      const int width = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
      const int height = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
      const ByteVector bytes = make_jpeg(width, height, named.kind, random.next());
      const std::vector<std::uint8_t> whole = decode_plainly(bytes);
      INFO(named.name, ", ", width, " x ", height);
      CHECK(decode_window(bytes, {0, 0, width, height}) == whole);
      for (int i = 0; i < 10; ++i) {
        const Window window = random_window(random, width, height);
        INFO("window ", window.x, ",", window.y, " ", window.width, "x", window.height);
        CHECK(decode_window(bytes, window) == cut(whole, width, window));
      }
    }
  }
}

TEST_CASE("a progressive JPEG that lacks scans is smoothed equally in every window") {
  Random random({.seed = 23}, 0);
  int shown = 0;
  for (const int h : {1, 2}) {
    const ByteVector full =
        make_jpeg(99, 87, {.h = {h, 1, 1}, .v = {h, 1, 1}, .progressive = true});
    for (std::size_t at = 0; at + 1 < full.size(); ++at) {
      if (full[at] != std::byte{0xff} || full[at + 1] != std::byte{0xda}) continue;
      ByteVector bytes = first(full, at);  // the scans before this one
      bytes.insert(bytes.end(), full.end() - 2, full.end());
      if (fault_of(bytes) != ErrorCode::none) continue;
      ++shown;
      const std::vector<std::uint8_t> whole = decode_plainly(bytes);
      for (int i = 0; i < 5; ++i) {
        const Window window = random_window(random, 99, 87);
        CHECK(decode_window(bytes, window) == cut(whole, 99, window));
      }
    }
  }
  CHECK(shown > 10);  // out of two files with ten scans each
}

TEST_CASE("a damaged JPEG that is decoded at all has the same pixels in every window") {
  Random random({.seed = 22}, 0);
  int shown = 0;
  for (const Named& named : kinds()) {
    ByteVector bytes = make_jpeg(75, 61, named.kind, random.next());
    const std::size_t data = find_marker(bytes, 0xda) + 12;
    for (int i = 0; i < 3; ++i) {
      bytes[data + random.below(bytes.size() - data)] = std::byte(random.below(255));
    }
    if (fault_of(bytes) != ErrorCode::none) continue;
    ++shown;
    const std::vector<std::uint8_t> whole = decode_plainly(bytes);
    for (int i = 0; i < 4; ++i) {
      const Window window = random_window(random, 75, 61);
      INFO(named.name, ", window ", window.x, ",", window.y, " ", window.width, "x", window.height);
      CHECK(decode_window(bytes, window) == cut(whole, 75, window));
    }
  }
  CHECK(shown > 50);
}

TEST_CASE("a JPEG cut anywhere is a fault") {
  for (const bool progressive : {false, true}) {
    const ByteVector bytes = make_jpeg(33, 50, {.progressive = progressive});
    for (std::size_t size = 3; size < bytes.size(); ++size) {
      INFO("progressive ", progressive, ", ", size, " of ", bytes.size(), " bytes");
      CHECK(fault_of(first(bytes, size)) == ErrorCode::image_cut_off);
    }
  }
}

TEST_CASE("a byte that became a marker inside the data of a JPEG is a fault") {
  ByteVector bytes = make_jpeg(64, 64, {});
  bytes[bytes.size() / 2] = std::byte{0xff};
  bytes[bytes.size() / 2 + 1] = std::byte{0x02};
  CHECK(fault_of(bytes) == ErrorCode::image_damaged);
}

TEST_CASE("rows above the cut of a truncated JPEG can still be decoded") {
  const ByteVector bytes = make_jpeg(64, 200, {});
  const std::vector<std::uint8_t> whole = decode_plainly(bytes);
  CHECK(decode_window(first(bytes, bytes.size() / 2), {3, 0, 20, 16}) ==
        cut(whole, 64, {3, 0, 20, 16}));
}

TEST_CASE("a JPEG whose data end early but with an end marker is decoded, as by Pillow") {
  ByteVector bytes = first(make_jpeg(64, 64, {}), 1500);
  bytes.push_back(std::byte{0xff});
  bytes.push_back(std::byte{0xd9});
  CHECK(fault_of(bytes) == ErrorCode::none);
}

TEST_CASE("scans are counted, so that a small file cannot take hours") {
  const ByteVector bytes = make_jpeg(32, 32, {.progressive = true});
  CHECK(fault_of(bytes, {.max_scans = 3}) == ErrorCode::image_too_large);
  CHECK(fault_of(bytes, {.max_scans = 10}) == ErrorCode::none);

  // A thousand scans: the last scan repeated.
  ByteVector bomb = bytes;
  std::size_t scan = bomb.size();
  do --scan;
  while (bomb[scan] != std::byte{0xff} || bomb[scan + 1] != std::byte{0xda});
  const ByteVector last(bomb.begin() + static_cast<std::ptrdiff_t>(scan), bomb.end() - 2);
  bomb.resize(bomb.size() - 2);
  for (int i = 0; i < 1000; ++i) bomb.insert(bomb.end(), last.begin(), last.end());
  CHECK(fault_of(bomb) == ErrorCode::image_too_large);
}

TEST_CASE("a JPEG of another size than its header said is a fault") {
  const ByteVector bytes = make_jpeg(20, 10, {});
  Picture picture({0, 0, 10, 10});
  DecodeScratch scratch;
  const ImageHeader header{.codec = Codec::jpeg, .width = 21, .height = 10};
  CHECK(decode(picture, bytes, header, {0, 0, 10, 10}, scratch)->code == ErrorCode::image_header);
}

TEST_CASE("JPEG kinds that are not decoded here are named") {
  ByteVector bytes = make_jpeg(20, 10, {});
  const std::size_t frame = find_marker(bytes, 0xc0);
  const auto with = [&](std::size_t at, int value) {
    ByteVector changed = bytes;
    changed[at] = std::byte(static_cast<unsigned char>(value));
    return fault_of(changed);
  };
  CHECK(with(frame + 1, 0xc3) == ErrorCode::codec_unsupported);  // lossless
  CHECK(with(frame + 4, 12) == ErrorCode::codec_unsupported);    // 12 bits
  CHECK(with(frame + 9, 2) == ErrorCode::codec_unsupported);     // two components
  CHECK(with(frame + 6, 0) == ErrorCode::image_header);          // height 0
  CHECK(with(frame + 3, 1) == ErrorCode::image_header);          // a segment too short
}

TEST_CASE("the size and orientation are in the header of a JPEG") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string exif = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s +
                             static_cast<char>(orientation) + "\0\0"s;
    ImageHeader header;
    CHECK_FALSE(read_header(header, make_jpeg(37, 21, {.exif = exif})).has_value());
    CHECK(header.codec == Codec::jpeg);
    CHECK(header.width == 37);
    CHECK(header.height == 21);
    CHECK(header.orientation == orientation);
  }
}

TEST_CASE("a strip of 1 x 65,500 pixels is decoded") {
  const ByteVector tall = make_jpeg(1, 65500, {});
  CHECK(decode_window(tall, {0, 65490, 1, 10}) == cut(decode_plainly(tall), 1, {0, 65490, 1, 10}));
  const ByteVector wide = make_jpeg(65500, 1, {});
  CHECK(decode_window(wide, {65000, 0, 10, 1}) ==
        cut(decode_plainly(wide), 65500, {65000, 0, 10, 1}));
}

TEST_CASE("a JPEG of reduced size: every window equals that of the whole") {
  Random random({.seed = test_seed()}, 30);
  for (const int by : {1, 2, 4, 8}) {
    for (const bool progressive : {false, true}) {
      const int width = 1 + static_cast<int>(random.below(90));
      const int height = 1 + static_cast<int>(random.below(90));
      const ByteVector jpeg = make_jpeg(width, height, {.progressive = progressive}, random.next());
      ImageHeader header;
      REQUIRE_FALSE(read_header(header, jpeg));
      reduce(header, by);
      const Size size{(width + by - 1) / by, (height + by - 1) / by};
      CHECK(size == Size{static_cast<int>(header.width), static_cast<int>(header.height)});
      DecodeScratch scratch;
      Picture whole({0, 0, size.width, size.height});
      REQUIRE_FALSE(decode(whole, jpeg, header, whole.window, scratch));
      REQUIRE(whole.rows == size.height);
      for (int i = 0; i < 5; ++i) {
        Picture part(random_window(random, size.width, size.height));
        REQUIRE_FALSE(decode(part, jpeg, header, part.window, scratch));
        CHECK(part.pixels == cut(whole.pixels, size.width, part.window));
      }
    }
  }
}

}  // namespace tundish
