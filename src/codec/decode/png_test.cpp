#include "codec/decode/png.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/testing.h"
#include "codec/decode/png_transparency.h"
#include "codec/decode/png_unfilter.h"
#include "codec/decode/test_images.h"

namespace tundish {
namespace {

using namespace std::string_literals;

using Pixels = std::vector<std::uint8_t>;

// Decodes a PNG of one row without filter.
Pixels decode_row(int width, int depth, int color, const std::string& row,
                  const std::vector<ByteVector>& before = {}) {
  std::vector<ByteVector> chunks = {png_ihdr(static_cast<std::uint32_t>(width), 1, depth, color)};
  chunks.insert(chunks.end(), before.begin(), before.end());
  chunks.push_back(png_idat(bytes_of("\0"s + row)));
  chunks.push_back(png_chunk("IEND", {}));
  return decode_window(png_file(chunks), {0, 0, width, 1});
}

Pixels grays(const std::string& values) {
  Pixels out;
  for (const char value : values) out.insert(out.end(), 3, static_cast<std::uint8_t>(value));
  return out;
}

constexpr std::pair<int, int> kKinds[] = {{0, 1}, {0, 2},  {0, 4},  {0, 8}, {0, 16},
                                          {2, 8}, {2, 16}, {3, 1},  {3, 2}, {3, 4},
                                          {3, 8}, {4, 8},  {4, 16}, {6, 8}, {6, 16}};

ByteVector damaged(ByteVector bytes, std::size_t at) {
  bytes[at] ^= std::byte{1};
  return bytes;
}

}  // namespace

// Expected values are the output of Pillow 12.3's convert("RGB").
TEST_CASE("every kind of PNG pixel becomes the RGB that Pillow makes of it") {
  CHECK(decode_row(8, 1, 0, "\xa5") == grays("\xff\0\xff\0\0\xff\0\xff"s));
  CHECK(decode_row(4, 2, 0, "\x1b") == grays("\0\x55\xaa\xff"s));
  CHECK(decode_row(4, 4, 0, "\x1b\x2f") == grays("\x11\xbb\x22\xff"s));
  CHECK(decode_row(2, 8, 0, "\x07\xfe") == grays("\x07\xfe"));
  // 16-bit gray is clipped at 255, not scaled.
  CHECK(decode_row(5, 16, 0, "\0\0\0\x80\0\xff\1\0\xff\xff"s) == grays("\0\x80\xff\xff\xff"s));
  CHECK(decode_row(1, 8, 2, "\x01\x02\x03") == Pixels{1, 2, 3});
  CHECK(decode_row(1, 16, 2, "\x01\xff\x02\x80\x03\x01") == Pixels{1, 2, 3});
  CHECK(decode_row(2, 8, 4, "\x64\0\xc8\xff"s) == grays("\x64\xc8"));
  CHECK(decode_row(1, 16, 4, "\x64\xc8\0\0"s) == grays("\x64"));
  CHECK(decode_row(1, 8, 6, "\x01\x02\x03\0"s) == Pixels{1, 2, 3});
  CHECK(decode_row(1, 16, 6, "\x01\x09\x02\x09\x03\x09\x04\x09") == Pixels{1, 2, 3});
}

TEST_CASE("16-bit grays can be kept as two bytes, in any window, interlaced or not") {
  const Size size{21, 13};
  for (const bool interlaced : {false, true}) {
    const ByteVector png = make_png(size.width, size.height, 16, 0, interlaced, 7);
    ImageHeader header;
    REQUIRE_FALSE(read_header(header, png));
    CHECK(header.gray16);
    header.keep16 = true;
    DecodeScratch scratch;
    Picture whole({0, 0, size.width, size.height});
    REQUIRE_FALSE(decode(whole, png, header, whole.window, scratch));
    const Pixels cut_at_255 = decode_window(png, whole.window);
    for (std::size_t i = 0; i < whole.pixels.size(); i += 3) {
      CHECK(whole.pixels[i + 2] == 0);
      CHECK(cut_at_255[i] == (whole.pixels[i + 1] != 0 ? 255 : whole.pixels[i]));
    }
    Random random({.seed = 3}, 0);
    for (int round = 0; round < 20; ++round) {
      Picture part(random_window(random, size.width, size.height));
      REQUIRE_FALSE(decode(part, png, header, part.window, scratch));
      CHECK(part.pixels == cut(whole.pixels, size.width, part.window));
    }
  }
  for (const auto& [color, depth] : kKinds) {
    const ByteVector png = make_png(4, 4, depth, color, false, 1, color == 3 ? 1 << depth : 0);
    ImageHeader header;
    REQUIRE_FALSE(read_header(header, png));
    header.keep16 = true;
    CHECK(header.gray16 == (color == 0 && depth == 16));
    Picture picture({0, 0, 4, 4});
    DecodeScratch scratch;
    const auto fault = decode(picture, png, header, picture.window, scratch);
    CHECK((fault ? fault->code : ErrorCode::none) ==
          (header.gray16 ? ErrorCode::none : ErrorCode::image_kind));
  }
}

// Collects the colors and, in the same order, the alpha of a window.
struct WithAlpha : StripSink {
  explicit WithAlpha(const Window& window) : window(window) {}
  void push(const Strip& strip) override {
    CHECK(strip.alpha != nullptr);
    for (int y = 0; y < strip.rows; ++y) {
      for (int x = window.x - strip.x; x < window.x - strip.x + window.width; ++x) {
        const std::uint8_t* const pixel = strip.pixels + y * strip.stride + std::ptrdiff_t{3} * x;
        pixels.insert(pixels.end(), pixel, pixel + 3);
        alpha.insert(alpha.end(), 3, alpha_of(strip, y, x));
      }
    }
  }
  Window window;
  Pixels pixels, alpha;
};

TEST_CASE("alpha can be kept, in any window, interlaced or not, and changes no color") {
  const Size size{21, 13};
  Random random({.seed = 3}, 0);
  for (const auto& [color, depth] : kKinds) {
    Pixels known;
    for (const bool interlaced : {false, true}) {
      const ByteVector png = make_png(size.width, size.height, depth, color, interlaced, 7,
                                      color == 3 ? 1 << depth : 0);
      ImageHeader header;
      REQUIRE_FALSE(read_header(header, png));
      header.keep_alpha = true;
      DecodeScratch scratch;
      WithAlpha whole({0, 0, size.width, size.height});
      REQUIRE_FALSE(decode(whole, png, header, whole.window, scratch));
      CHECK(whole.pixels == decode_window(png, whole.window));
      const bool opaque = std::all_of(whole.alpha.begin(), whole.alpha.end(),
                                      [](std::uint8_t one) { return one == 255; });
      CHECK(opaque == (color < 4));
      if (interlaced) CHECK(whole.alpha == known);
      known = whole.alpha;
      for (int round = 0; round < 10; ++round) {
        WithAlpha part(random_window(random, size.width, size.height));
        REQUIRE_FALSE(decode(part, png, header, part.window, scratch));
        CHECK(part.pixels == cut(whole.pixels, size.width, part.window));
        CHECK(part.alpha == cut(whole.alpha, size.width, part.window));
      }
    }
  }
}

TEST_CASE("palette entries that the file leaves out are black, and transparency is ignored") {
  const ByteVector palette = png_chunk("PLTE", bytes_of("\x0a\x14\x1e\x28\x32\x3c"));
  const Pixels expected = {10, 20, 30, 40, 50, 60, 0, 0, 0, 0, 0, 0};
  CHECK(decode_row(4, 8, 3, "\0\x01\x02\xff"s, {palette}) == expected);
  CHECK(decode_row(4, 4, 3, "\x01\x2f"s, {palette}) == expected);
  CHECK(decode_row(4, 8, 3, "\0\x01\x02\xff"s, {palette, png_chunk("tRNS", bytes_of("\0\x7f"s))}) ==
        expected);
  CHECK(decode_row(1, 8, 2, "\x01\x02\x03", {png_chunk("tRNS", bytes_of("\0\1\0\2\0\3"s))}) ==
        Pixels{1, 2, 3});
  CHECK(decode_row(1, 8, 2, "\x01\x02\x03", {png_chunk("gAMA", bytes_of("\0\0\x4e\x20"s))}) ==
        Pixels{1, 2, 3});
}

TEST_CASE("interlaced and plain PNGs of the same pixels decode to the same image") {
  for (const auto& [color, depth] : kKinds) {
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 2}, {5, 9}, {33, 29}}) {
      const int colors = color == 3 ? 1 << depth : 0;
      const ByteVector plain = make_png(width, height, depth, color, false, 5, colors);
      const ByteVector interlaced = make_png(width, height, depth, color, true, 5, colors);
      INFO("color ", color, ", depth ", depth, ", ", width, " x ", height);
      CHECK(decode_window(plain, {0, 0, width, height}) ==
            decode_window(interlaced, {0, 0, width, height}));
    }
  }
}

TEST_CASE("a window of a PNG equals the same window of the whole") {
  Random random({.seed = 21}, 0);
  for (const auto& [color, depth] : kKinds) {
    for (const bool interlaced : {false, true}) {
      const int width = 1 + static_cast<int>(random.below(70));
      const int height = 1 + static_cast<int>(random.below(70));
      const ByteVector bytes = make_png(width, height, depth, color, interlaced, random.next(),
                                        color == 3 ? 1 << depth : 0);
      const Pixels whole = decode_window(bytes, {0, 0, width, height});
      for (int i = 0; i < 10; ++i) {
        const Window window = random_window(random, width, height);
        CHECK(decode_window(bytes, window) == cut(whole, width, window));
      }
    }
  }
}

TEST_CASE("a PNG cut anywhere before its last pixel is a fault") {
  for (const bool interlaced : {false, true}) {
    const ByteVector bytes = make_png(20, 20, 8, 2, interlaced);
    for (std::size_t size = 8; size < bytes.size() - 16; size += 3) {
      CHECK(fault_of(Bytes(bytes).first(size)) == ErrorCode::image_cut_off);
    }
    CHECK(fault_of(Bytes(bytes).first(bytes.size() - 12)) == ErrorCode::none);  // no IEND
  }
}

TEST_CASE("a PNG whose pixels are fewer than its header says is cut short") {
  const ByteVector bytes =
      png_file({png_ihdr(2, 2, 8, 2), png_idat(bytes_of("\0abcdef"s)), png_chunk("IEND", {})});
  CHECK(fault_of(bytes) == ErrorCode::image_cut_off);
}

TEST_CASE("a wrong checksum in any chunk up to the pixels is a fault") {
  const ByteVector ihdr = png_ihdr(1, 1, 8, 2);
  const ByteVector text = png_chunk("tEXt", bytes_of("a\0b"s));
  const ByteVector idat = png_idat(bytes_of("\0abc"s));
  const ByteVector iend = png_chunk("IEND", {});
  CHECK(fault_of(png_file({ihdr, text, idat, iend})) == ErrorCode::none);
  CHECK(fault_of(png_file({damaged(ihdr, ihdr.size() - 1), text, idat, iend})) ==
        ErrorCode::image_damaged);
  CHECK(fault_of(png_file({ihdr, damaged(text, text.size() - 1), idat, iend})) ==
        ErrorCode::image_damaged);
  CHECK(fault_of(png_file({ihdr, text, damaged(idat, idat.size() - 1), iend})) ==
        ErrorCode::image_damaged);
  CHECK(fault_of(png_file({ihdr, text, damaged(idat, 12), iend})) == ErrorCode::image_damaged);
}

TEST_CASE("a PNG header that makes no sense is a fault") {
  const ByteVector idat = png_idat(bytes_of("\0abc"s));
  const ByteVector iend = png_chunk("IEND", {});
  for (const ByteVector& ihdr :
       {png_ihdr(0, 1, 8, 2), png_ihdr(1, 0, 8, 2), png_ihdr(0x80000000, 1, 8, 2),
        png_ihdr(1, 1, 3, 0), png_ihdr(1, 1, 16, 3), png_ihdr(1, 1, 4, 2), png_ihdr(1, 1, 8, 5),
        png_chunk("IHDR", bytes_of("short")), png_chunk("tEXt", bytes_of("a"))}) {
    CHECK(fault_of(png_file({ihdr, idat, iend})) == ErrorCode::image_header);
  }
  CHECK(fault_of(png_file({idat})) == ErrorCode::image_header);
  CHECK(fault_of(png_file({png_ihdr(1, 1, 8, 2), iend})) == ErrorCode::image_header);
}

TEST_CASE("a transparency of any length leaves what it does not name opaque") {
  const ByteVector idat = png_idat(bytes_of("\0abc"s));
  for (const int color : {0, 2, 3, 4, 6}) {
    for (const std::size_t length : {0U, 1U, 2U, 5U, 6U, 256U, 300U}) {
      const ByteVector chunk = png_chunk("tRNS", bytes_of(std::string(length, 'a')));
      const ByteVector png = png_file({png_ihdr(1, 1, 8, color), chunk, idat});
      const PngTransparency out = read_transparency(png, 8, color);
      CHECK(out.color.has_value() == ((color == 0 && length >= 2) || (color == 2 && length >= 6)));
      const std::size_t named = color == 3 ? std::min<std::size_t>(length, 256) : 0;
      for (std::size_t i = 0; i < 256; ++i) CHECK(out.alpha[i] == (i < named ? 'a' : 255));
    }
  }
  const ByteVector late = png_chunk("tRNS", bytes_of("aaaaaa"));
  CHECK_FALSE(read_transparency(png_file({png_ihdr(1, 1, 8, 2), idat, late}), 8, 2).color);
  CHECK_FALSE(read_transparency(Bytes{}, 8, 2).color);
}

TEST_CASE("taking back filters in registers equals the standard's way") {
  Random random({.seed = test_seed()}, 40);
  for (int round = 0; round < 400; ++round) {
    const std::size_t pixel = 1 + random.below(8);
    const std::size_t bytes = pixel * (1 + random.below(40));
    Pixels row(bytes), above(bytes);
    for (std::uint8_t& one : row) one = static_cast<std::uint8_t>(random.next());
    for (std::uint8_t& one : above) one = static_cast<std::uint8_t>(random.next());
    for (int filter = 0; filter <= 4; ++filter) {
      for (const std::uint8_t* up : {static_cast<const std::uint8_t*>(nullptr),
                                     static_cast<const std::uint8_t*>(above.data())}) {
        Pixels fast = row, slow = row;
        unfilter_row(filter, fast.data(), up, bytes, pixel);
        unfilter_row_reference(filter, slow.data(), up, bytes, pixel);
        CHECK(fast == slow);
      }
    }
  }
}

namespace {

// The result of a decode: pixels and alpha, or a fault.
struct Decoded : StripSink {
  void push(const Strip& strip) override {
    for (int y = 0; y < strip.rows; ++y) {
      const std::uint8_t* const row = strip.pixels + y * strip.stride;
      out.insert(out.end(), row, row + std::ptrdiff_t{3} * strip.width);
      for (int x = 0; x < strip.width; ++x) out.push_back(alpha_of(strip, y, x));
    }
  }
  Pixels out;
  std::optional<Fault> fault;
};

Decoded decode_by(PngPath path, Bytes png, const ImageHeader& header, const Window& window) {
  Decoded out;
  DecodeScratch scratch;
  out.fault = decode_png(out, png, header, window, scratch, path);
  return out;
}

// Checks that both paths produce the same pixels or the same fault. Counts the outcomes.
void compare_paths(Bytes png, bool keep_alpha, Random& random, int& good, int& bad) {
  ImageHeader header;
  if (read_header(header, png)) return;
  header.keep_alpha = keep_alpha;
  const auto width = static_cast<int>(header.width), height = static_cast<int>(header.height);
  for (const Window& window : {Window{0, 0, width, height}, random_window(random, width, height)}) {
    const Decoded fast = decode_by(PngPath::fastest, png, header, window);
    const Decoded slow = decode_by(PngPath::libpng, png, header, window);
    REQUIRE(fast.fault.has_value() == slow.fault.has_value());
    ++(fast.fault ? bad : good);
    if (!fast.fault) {
      CHECK(fast.out == slow.out);
      continue;
    }
    CHECK(fast.fault->code == slow.fault->code);
    CHECK(fast.fault->reason == slow.fault->reason);
    CHECK(fast.fault->offset == slow.fault->offset);
  }
}

}  // namespace

TEST_CASE("a PNG inflated as a whole equals libpng's, also when it is damaged") {
  Random random({.seed = test_seed()}, 41);
  int good = 0, bad = 0;
  for (int round = 0; round < 4; ++round) {
    for (const auto& [color, depth] : kKinds) {
      const int width = 1 + static_cast<int>(random.below(60));
      const int height = 1 + static_cast<int>(random.below(60));
      const ByteVector png = make_png(width, height, depth, color, round == 3, random.next(),
                                      color == 3 ? 1 << depth : 0);
      compare_paths(png, round % 2 == 0, random, good, bad);
      ByteVector broken = png;
      broken[33 + random.below(broken.size() - 33)] ^= std::byte{4};
      compare_paths(broken, false, random, good, bad);
      compare_paths(Bytes(png).first(40 + random.below(png.size() - 40)), false, random, good, bad);
    }
  }
  CHECK(good > 100);
  CHECK(bad > 60);
}

TEST_CASE("streams that zlib and libdeflate might see differently are libpng's") {
  Random random({.seed = test_seed()}, 42);
  int good = 0, bad = 0;
  const std::string row = "\0abcdefghi"s;
  for (const std::string& rows : {row + row, row + row + "more"s, row, row + row.substr(1), ""s}) {
    const ByteVector png = png_file({png_ihdr(3, 2, 8, 2), png_idat(bytes_of(rows))});
    compare_paths(png, false, random, good, bad);
    for (std::size_t at = 41; at < png.size() - 4; ++at) {  // inside the stream, checksums repaired
      ByteVector idat(png.begin() + 41, png.end() - 4);
      idat[at - 41] ^= std::byte{1};
      compare_paths(png_file({png_ihdr(3, 2, 8, 2), png_chunk("IDAT", idat)}), false, random, good,
                    bad);
    }
  }
  CHECK(good > 20);
  CHECK(bad > 20);
}

TEST_CASE("the orientation of a PNG is in its EXIF or XMP data, before or after the pixels") {
  const std::string tiff = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0"s;
  const ByteVector ihdr = png_ihdr(1, 1, 8, 2), idat = png_idat(bytes_of("\0abc"s));
  const auto orientation = [](const std::vector<ByteVector>& chunks) {
    ImageHeader header;
    CHECK_FALSE(read_header(header, png_file(chunks)).has_value());
    return int{header.orientation};
  };
  const auto text = [](const char* type, const std::string& content) {
    return png_chunk(type, bytes_of(content));
  };
  const ByteVector exif = text("eXIf", tiff), end = text("IEND", "");
  CHECK(orientation({ihdr, exif, idat}) == 6);
  CHECK(orientation({ihdr, idat, exif, end}) == 6);
  CHECK(orientation({ihdr, idat, end, exif}) == 1);

  const std::string xmp = "<a tiff:Orientation=\"3\"/>";
  const ByteVector packet = text("iTXt", "XML:com.adobe.xmp\0\0\0\0\0"s + xmp);
  CHECK(orientation({ihdr, packet, idat}) == 3);
  CHECK(orientation({ihdr, idat, packet, end}) == 3);
  CHECK(orientation({ihdr, packet, exif, idat}) == 6);
  CHECK(orientation({ihdr, text("iTXt", "XML:com.adobe.xmp\0\0\0\0"s), idat}) == 1);
  CHECK(orientation({ihdr, text("iTXt", "XML:com.adobe.xmp\0\1\0\0\0x"s + xmp), idat}) == 1);

  std::string digits;
  for (const char c : "Exif\0\0"s + tiff) {
    digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  const std::string profile = "Raw profile type exif\0\nexif\n      28\n"s + digits + "\n";
  CHECK(orientation({ihdr, text("tEXt", profile), idat}) == 6);
  CHECK(orientation({ihdr, text("tEXt", profile + "x"), idat}) == 1);
  CHECK(orientation({ihdr, text("tEXt", profile.substr(0, 30)), idat}) == 1);
}

}  // namespace tundish
