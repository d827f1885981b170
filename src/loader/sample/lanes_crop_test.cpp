// A crop of a lanes record, resized strip by strip, against the reference implementations.
#include <doctest/doctest.h>

#include <cstring>

#include "augment/cpu/resample.h"
#include "codec/lanes/decode.h"
#include "codec/lanes/decode_reference.h"
#include "codec/lanes/testing.h"

namespace tundish {
namespace {

struct Picture : RowSink {
  explicit Picture(Size size)
      : rgb(std::size_t{3} * static_cast<std::size_t>(size.width) *
            static_cast<std::size_t>(size.height)) {}
  void row(int y, const std::uint8_t* from, int width, bool) override {
    const auto bytes = std::size_t{3} * static_cast<std::size_t>(width);
    std::memcpy(rgb.data() + static_cast<std::size_t>(y) * bytes, from, bytes);
  }
  std::vector<std::uint8_t> rgb;
};

}  // namespace

TEST_CASE("a crop of a lanes record is resized as the slow twins do") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Random random({.seed = seed}, 0);
  lanes::RecordWriter writer;
  std::vector<std::byte> record;
  for (int round = 0; round < 12; ++round) {
    const lanes::Coefficients image = lanes::some_image(random, 200);
    const auto tables = lanes::tables_for(image);
    REQUIRE(writer.write(record, image, *tables));
    const Size whole{image.geometry.width, image.geometry.height};
    const Window window = lanes::random_window(random, whole.width, whole.height);
    const Size size{between(random, 1, 60), between(random, 1, 60)};
    const Filter filter = random.below(2) == 0 ? Filter::bilinear : Filter::bicubic;
    const auto crop = lanes::cut_out(lanes::decode_reference(image), whole.width, window);
    std::vector<std::uint8_t> expected;
    resample_reference(expected, crop, {window.width, window.height}, size, filter);
    for (const Cpu level : all_cpus()) {
      CAPTURE(cpu_name(level));
      lanes::Decoder decoder(level);
      Resample resample(level);
      Picture picture(size);
      const Window all{0, 0, size.width, size.height};
      resample.begin({.crop = window, .size = size, .filter = filter, .keep = all}, whole, picture);
      REQUIRE(!decoder.decode(resample, record, resample.needed(), *tables));
      resample.finish();
      REQUIRE(picture.rgb == expected);
    }
  }
}

}  // namespace tundish
