#include "codec/decode/gif/gif.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "base/testing.h"
#include "codec/decode/gif/gif_pixels.h"
#include "codec/decode/test_images.h"

namespace tundish {
namespace {

using namespace std::string_literals;

using Pixels = std::vector<std::uint8_t>;

// Packs bits into bytes, lowest bit first, in blocks of at most 255 bytes.
struct BitWriter {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;

  void put(int code, int size) {
    bits |= static_cast<std::uint32_t>(code) << count;
    for (count += size; count >= 8; count -= 8, bits >>= 8) bytes += static_cast<char>(bits & 255);
  }
  std::string blocks() {
    if (count > 0) bytes += static_cast<char>(bits & 255);
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 255) {
      const std::string part = bytes.substr(at, 255);
      out += static_cast<char>(part.size());
      out += part;
    }
    return out + '\0';
  }
};

// LZW compression with a table of whole strings: the inverse of GifPixels.
std::string compress(const Pixels& pixels, int code_bits) {
  const int clear = 1 << code_bits;
  BitWriter writer;
  std::map<std::string, int> table;
  int next = 0, size = 0;
  const auto reset = [&] {
    table.clear();
    for (int i = 0; i < clear; ++i) table[std::string(1, static_cast<char>(i))] = i;
    next = clear + 2;
    size = code_bits + 1;
  };
  reset();
  writer.put(clear, size);
  std::string string;
  for (const std::uint8_t pixel : pixels) {
    const std::string longer = string + static_cast<char>(pixel);
    if (table.contains(longer)) {
      string = longer;
      continue;
    }
    writer.put(table[string], size);
    if (next < 4096) {
      if (next == 1 << size && size < 12) ++size;
      table[longer] = next++;
    } else {
      writer.put(clear, size);
      reset();
    }
    string = std::string(1, static_cast<char>(pixel));
  }
  writer.put(table[string], size);
  if (next == 1 << size && size < 12) ++size;
  writer.put(clear + 1, size);
  return writer.blocks();
}

void put16(std::string& to, int value) {
  to += static_cast<char>(value & 255);
  to += static_cast<char>(value >> 8);
}

struct GifKind {
  Size screen{4, 3};
  Window frame{0, 0, 4, 3};
  bool interlaced = false;
  std::string extensions = {};
  std::string local_palette = {};  // 4 colors
};

const std::string kPalette = "\x0a\x0b\x0c\x14\x15\x16\x1e\x1f\x20\x28\x29\x2a"s;

ByteVector make_gif(const GifKind& kind, const Pixels& numbers) {
  std::string out = "GIF89a";
  put16(out, kind.screen.width);
  put16(out, kind.screen.height);
  out += "\x81\0\0"s + kPalette + kind.extensions + ",";
  for (const int value : {kind.frame.x, kind.frame.y, kind.frame.width, kind.frame.height}) {
    put16(out, value);
  }
  const int local = kind.local_palette.empty() ? 0 : 0x81;
  out += static_cast<char>(local | (kind.interlaced ? 0x40 : 0));
  return bytes_of(out + kind.local_palette + "\x02" + compress(numbers, 2) + ";");
}

std::string numbers_of(const Pixels& pixels) {
  std::string out;
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    out += static_cast<char>('0' + (pixels[i] - 10) / 10);
  }
  return out;
}

std::string decode_all(const GifKind& kind, const Pixels& numbers) {
  return numbers_of(
      decode_window(make_gif(kind, numbers), {0, 0, kind.screen.width, kind.screen.height}));
}

}  // namespace

TEST_CASE("codes of every size come back as the pixels they were made of") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 40; ++round) {
    const int bits = 2 + static_cast<int>(random.below(7));
    const std::uint64_t colors = 1 + random.below(std::uint64_t{1} << bits);
    Pixels pixels(1 + random.below(round % 4 == 0 ? 30'000 : 500));
    for (std::uint8_t& one : pixels) one = static_cast<std::uint8_t>(random.below(colors));
    const ByteVector blocks = bytes_of(compress(pixels, bits));
    GifPixels reader(blocks, bits);
    Pixels out(pixels.size());
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random.below(700), out.size() - at);
      REQUIRE(reader.read(out.data() + at, count));
      at += count;
    }
    CHECK(out == pixels);
    std::uint8_t more = 0;
    CHECK_FALSE(reader.read(&more, 1));
    CHECK(reader.fault().code == ErrorCode::image_cut_off);
  }
}

TEST_CASE("rows of an interlaced GIF come in four passes") {
  const GifKind kind{.screen = {1, 10}, .frame = {0, 0, 1, 10}, .interlaced = true};
  // Rows 0 and 8, then 4, then 2 and 6, then 1, 3, 5, 7, 9.
  CHECK(decode_all(kind, {0, 0, 1, 2, 2, 3, 3, 3, 3, 3}) == "0323132303");
}

TEST_CASE("around a smaller frame is the transparent color, or the first one") {
  GifKind kind{.frame = {1, 1, 2, 1}};
  CHECK(decode_all(kind, {1, 2}) == "000001200000");
  kind.extensions = "!\xf9\x04\x01\0\0\x03\0"s;
  const ByteVector gif = make_gif(kind, {1, 3});
  CHECK(numbers_of(decode_window(gif, {0, 0, 4, 3})) == "333331333333");
  ImageHeader header;
  REQUIRE_FALSE(read_header(header, gif));
  header.keep_alpha = true;
  struct Alpha : StripSink {
    std::string out;
    void push(const Strip& strip) override {
      for (int y = 0; y < strip.rows; ++y) {
        for (int x = 0; x < strip.width; ++x) out += alpha_of(strip, y, x) == 0 ? '-' : '#';
      }
    }
  } alpha;
  DecodeScratch scratch;
  REQUIRE_FALSE(decode(alpha, gif, header, {0, 0, 4, 3}, scratch));
  CHECK(alpha.out == "-----#------");
}

TEST_CASE("a frame beyond the screen makes the screen larger; its own palette comes first") {
  const ByteVector gif = make_gif({.screen = {2, 1}, .frame = {1, 0, 2, 2}}, {1, 2, 3, 0});
  CHECK(numbers_of(decode_window(gif, {0, 0, 3, 2})) == "012030");
  GifKind kind{.frame = {0, 0, 1, 1}, .local_palette = "\x01\x02\x03"s + std::string(9, '\7')};
  CHECK(decode_window(make_gif(kind, {0}), {0, 0, 1, 1}) == Pixels{1, 2, 3});
}

TEST_CASE("a window of a GIF equals the same window of the whole") {
  Random random({.seed = test_seed()}, 1);
  for (const bool interlaced : {false, true}) {
    const GifKind kind{.screen = {40, 30}, .frame = {3, 2, 30, 25}, .interlaced = interlaced};
    Pixels numbers(30 * 25);
    for (std::uint8_t& one : numbers) one = static_cast<std::uint8_t>(random.below(4));
    const ByteVector gif = make_gif(kind, numbers);
    const Pixels all = decode_window(gif, {0, 0, 40, 30});
    for (int i = 0; i < 10; ++i) {
      const Window window = random_window(random, 40, 30);
      CHECK(decode_window(gif, window) == cut(all, 40, window));
    }
  }
}

TEST_CASE("a GIF that is cut off or makes no sense has a fault") {
  const ByteVector good = make_gif({}, Pixels(12, 1));
  CHECK(fault_of(good) == ErrorCode::none);
  for (std::size_t size = 6; size < good.size() - 2; ++size) {
    CHECK(fault_of(Bytes(good).first(size)) == ErrorCode::image_cut_off);
  }
  CHECK(fault_of(make_gif({}, Pixels(11, 1))) == ErrorCode::image_cut_off);
  CHECK(fault_of(make_gif({.frame = {0, 0, 0, 3}}, {1})) == ErrorCode::image_header);
  CHECK(fault_of(make_gif({.extensions = "!\xf9\x01\x01\0"s}, Pixels(12, 1))) ==
        ErrorCode::image_header);
  CHECK(fault_of(make_gif({.extensions = ";"}, Pixels(12, 1))) == ErrorCode::image_header);
  ByteVector wrong = good;
  wrong[wrong.size() - 6] = std::byte{255};  // codes that were never defined
  CHECK(fault_of(wrong) != ErrorCode::none);
}

}  // namespace tundish
