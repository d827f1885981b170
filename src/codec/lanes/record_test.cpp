#include "codec/lanes/record.h"

#include <doctest/doctest.h>

#include <memory>

#include "base/crc32c.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/decode_reference.h"
#include "codec/lanes/testing.h"

namespace tundish::lanes {
TEST_CASE("a record gives back its coefficients, and the pixels of any window") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  RecordWriter writer;
  std::vector<std::byte> record;
  for (int round = 0; round < 40 / one_in(4); ++round) {
    const Coefficients image = some_image(random, 300);
    const auto tables = tables_for(image);
    REQUIRE(writer.write(record, image, *tables));
    const std::vector<std::uint8_t> whole = decode_reference(image);
    for (const Cpu level : all_cpus()) {
      CAPTURE(cpu_name(level));
      Decoder decoder(level);
      Coefficients read;
      REQUIRE(!decoder.decode(read, record, *tables));
      REQUIRE(read.color == image.color);
      for (int c = 0; c < image.geometry.components; ++c) {
        REQUIRE(read.blocks[c] == image.blocks[c]);
        REQUIRE(read.quantization[c] == image.quantization[c]);
      }
      const int width = image.geometry.width, height = image.geometry.height;
      const int w = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(width)));
      const int h = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(height)));
      const Window window{
          static_cast<int>(random.below(static_cast<std::uint64_t>(width - w + 1))),
          static_cast<int>(random.below(static_cast<std::uint64_t>(height - h + 1))), w, h};
      WindowSink sink(window);
      REQUIRE(!decoder.decode(sink, record, window, *tables));
      REQUIRE(sink.complete());
      for (int y = 0; y < h; ++y) {
        const auto* expected = whole.data() + (std::ptrdiff_t{window.y + y} * width + window.x) * 3;
        REQUIRE(
            std::equal(expected, expected + 3 * w, sink.rgb.data() + std::ptrdiff_t{3} * y * w));
      }
    }
  }
}

TEST_CASE("every flipped bit and every truncation of a record is found") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  Coefficients image;
  do image = some_image(random, 90);
  while (image.geometry.units() < 2);
  const auto tables = tables_for(image);
  RecordWriter writer;
  std::vector<std::byte> bytes;
  REQUIRE(writer.write(bytes, image, *tables));
  Record record;
  const auto is_good = [&](Bytes some) {
    return !record.read(some) && !record.check_rows(0, record.geometry().units_y);
  };
  REQUIRE(is_good(bytes));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    CAPTURE(bit);
    REQUIRE(!is_good(bytes));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    REQUIRE(!is_good(cut));
  }
}

TEST_CASE("a flipped bit under right checksums gives the same error or pixels in every decoder") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  RecordWriter writer;
  std::vector<std::byte> bytes;
  int errors = 0, pixels = 0;
  for (int round = 0; round < 20 / one_in(4); ++round) {
    const Coefficients image = some_image(random, 24);
    const auto tables = tables_for(image);
    REQUIRE(writer.write(bytes, image, *tables));
    Record record;
    REQUIRE(!record.read(bytes));
    const auto head_bytes = static_cast<std::size_t>(record.unit(0, 0).data() - bytes.data()) - 4;
    Decoder slow(Cpu::scalar), fast(best_cpu());
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      if (!recompute_checksums(flipped, head_bytes)) {
        ++errors;
        continue;
      }
      const std::optional<RecordSize> size = read_size(flipped);
      REQUIRE(size);
      const Window all{0, 0, size->width, size->height};
      WindowSink a(all), b(all);
      const bool slow_bad = slow.decode(a, flipped, all, *tables).has_value();
      const bool fast_bad = fast.decode(b, flipped, all, *tables).has_value();
      CAPTURE(bit);
      REQUIRE(slow_bad == fast_bad);
      if (!slow_bad) REQUIRE(a.rgb == b.rgb);
      (slow_bad ? errors : pixels) += 1;
    }
  }
  CHECK(errors > 0);
  CHECK(pixels > 0);
}

}  // namespace tundish::lanes
