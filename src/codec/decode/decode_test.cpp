#include "codec/decode/decode.h"

#include <doctest/doctest.h>

#include <string>

#include "codec/decode/test_images.h"

namespace tundish {
namespace {

using namespace std::string_literals;

std::optional<Codec> sniff_text(const std::string& text) { return sniff(bytes_of(text)); }

}  // namespace

TEST_CASE("the first bytes decide the codec, not the file name") {
  CHECK(sniff(make_jpeg(8, 8, {})) == Codec::jpeg);
  CHECK(sniff(make_png(8, 8, 8, 2, false)) == Codec::png);  // ImageNet has one named .JPEG
  CHECK(sniff_text("\x93NUMPY\x01\0"s) == Codec::npy);
  CHECK(sniff_text("RIFF\x24\0\0\0WEBPVP8 "s) == Codec::webp);
  CHECK(sniff_text("GIF89a\x01\0"s) == Codec::gif);
  CHECK(sniff_text("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"s) == Codec::bmp);
}

TEST_CASE("other image formats are known, and kept as they came") {
  for (const std::string& text :
       {"II*\0\x08\0\0\0"s, "MM\0*\0\0\0\x08"s, "P6\n3 2\n255\n"s, "\xff\x0a\xfa"s,
        "\0\0\0\x1c"s + "ftypavif\0\0\0\0"s, "\0\0\0\x18"s + "ftypheic\0\0\0\0"s, "8BPS\0\x01"s,
        "\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\0\0\0\0\x16\0\0\0"s}) {
    CHECK(sniff_text(text) == Codec::unknown);
    ImageHeader header;
    CHECK(read_header(header, bytes_of(text))->code == ErrorCode::codec_unsupported);
  }
}

TEST_CASE("data that are no image and images that cannot be decoded give different errors") {
  for (const std::string& text :
       {""s, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s,
        "<!DOCTYPE html><html><body>404 Not Found</body></html>"s, "<?xml version=\"1.0\"?>"s,
        "BMW is a make of cars"s, "P6 is not always a picture"s.substr(0, 2), "\xff\xd8"s,
        "\0\0\0\x18"s + "ftypisom\0\0\0\0"s, "RIFF\x24\0\0\0WAVEfmt "s}) {
    INFO(text);
    CHECK_FALSE(sniff_text(text).has_value());
    ImageHeader header;
    CHECK(read_header(header, bytes_of(text))->code == ErrorCode::not_an_image);
  }
}

TEST_CASE("limits act on the header, before memory is taken") {
  const ByteVector jpeg = make_jpeg(40, 30, {});
  const ByteVector png = make_png(40, 30, 8, 2, false);
  for (const ByteVector& bytes : {jpeg, png}) {
    CHECK(fault_of(bytes, {.max_pixels = 1200, .max_side = 40}) == ErrorCode::none);
    CHECK(fault_of(bytes, {.max_pixels = 1199}) == ErrorCode::image_too_large);
    CHECK(fault_of(bytes, {.max_side = 39}) == ErrorCode::image_too_large);
    CHECK(fault_of(bytes, {.max_bytes = bytes.size() - 1}) == ErrorCode::image_too_large);
  }
  // A decompression bomb: 2 x 10^9 pixels on a side, no data.
  CHECK(fault_of(png_file({png_ihdr(2'000'000'000, 2'000'000'000, 16, 6), png_chunk("IDAT", {}),
                           png_chunk("IEND", {})})) == ErrorCode::image_too_large);
}

TEST_CASE("the limits act on the header that decode is given, too") {
  const ByteVector bytes = make_jpeg(40, 30, {});
  Picture picture({0, 0, 1, 1});
  DecodeScratch scratch;
  const ImageHeader header{.codec = Codec::jpeg, .width = 60000, .height = 60000};
  CHECK(decode(picture, bytes, header, {0, 0, 1, 1}, scratch)->code == ErrorCode::image_too_large);
}

TEST_CASE("a window that is not inside the image is refused") {
  const ByteVector bytes = make_jpeg(40, 30, {});
  ImageHeader header;
  CHECK_FALSE(read_header(header, bytes).has_value());
  DecodeScratch scratch;
  for (const Window window :
       {Window{-1, 0, 5, 5}, Window{0, 0, 41, 30}, Window{1, 0, 40, 30}, Window{0, 30, 1, 1},
        Window{0, 0, 0, 1}, Window{5, 5, -2, 3}, Window{2147483647, 0, 2147483647, 1}}) {
    Picture picture(window);
    CHECK(decode(picture, bytes, header, window, scratch)->code == ErrorCode::argument);
  }
}

TEST_CASE("one scratch serves images of any size and kind in turn") {
  DecodeScratch scratch;
  for (const auto& [width, height] : {std::pair{100, 20}, std::pair{3, 50}, std::pair{64, 64}}) {
    for (const ByteVector& bytes :
         {make_jpeg(width, height, {}), make_png(width, height, 8, 2, true),
          make_png(width, height, 16, 0, false)}) {
      ImageHeader header;
      CHECK_FALSE(read_header(header, bytes).has_value());
      Picture picture({1, 2, width - 1, height - 2});
      CHECK_FALSE(decode(picture, bytes, header, picture.window, scratch).has_value());
      CHECK(picture.pixels == decode_window(bytes, picture.window));
    }
  }
}

TEST_CASE("a sink that throws leaves nothing behind") {
  struct Thrower : StripSink {
    void push(const Strip&) override { throw 7; }
  };
  for (const ByteVector& bytes : {make_jpeg(40, 30, {}), make_png(40, 30, 8, 2, true)}) {
    ImageHeader header;
    CHECK_FALSE(read_header(header, bytes).has_value());
    Thrower sink;
    DecodeScratch scratch;
    CHECK_THROWS_AS(static_cast<void>(decode(sink, bytes, header, {0, 0, 40, 30}, scratch)), int);
  }
}

}  // namespace tundish
