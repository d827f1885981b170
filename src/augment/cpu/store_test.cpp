#include "augment/cpu/store.h"

#include <doctest/doctest.h>

#include <cstring>

#include "augment/cpu/testing.h"
#include "augment/pixels/noise/normal_ops.h"
#include "augment/transform.h"
#include "base/random.h"

namespace tundish {
namespace {

// Stores one element at a time, directly from the definition.
std::vector<std::byte> store_reference(const TestImage& image, const PixelTable& table,
                                       Placement place, std::size_t bytes, bool mirror_x) {
  std::vector<std::byte> memory(bytes);
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const std::uint8_t level = pixel(image, mirror_x ? image.size.width - 1 - x : x, y)[c];
        const std::uint32_t value = table.value[static_cast<std::size_t>(c)][level];
        std::memcpy(memory.data() + y * place.dy + x * place.dx + c * place.dc, &value,
                    dtype_bytes(table.dtype));
      }
    }
  }
  return memory;
}

}  // namespace

TEST_CASE("every type and layout is stored as the table says") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    std::vector<Transform> transforms{ToDtype{dtype, true}};
    if (dtype != Dtype::uint8) transforms.emplace_back(Normalize{});
    const PixelTable table = pixel_table(transforms);
    const auto e = static_cast<std::ptrdiff_t>(dtype_bytes(dtype));
    for (const int width : {1, 2, 5, 16, 21, 22, 67, 224}) {
      const TestImage image = noise({width, 3}, static_cast<std::uint64_t>(width));
      const Placement layouts[] = {
          {nullptr, width * 3 * e, 3 * e, e},      // HWC
          {nullptr, width * e, e, 3 * width * e},  // CHW
          {nullptr, width * 8 * e, 8 * e, 2 * e},  // any other layout
      };
      for (Placement place : layouts) {
        for (const bool mirror_x : {false, true}) {
          CAPTURE(words(dtype)[static_cast<std::size_t>(dtype)]);
          CAPTURE(width);
          CAPTURE(mirror_x);
          const std::size_t bytes =
              static_cast<std::size_t>(2 * place.dy + (width - 1) * place.dx + 2 * place.dc + e);
          for (const Cpu cpu : all_cpus()) {
            CAPTURE(cpu_name(cpu));
            std::vector<std::byte> memory(bytes);
            place.base = memory.data();
            Store store(cpu);
            store.begin(table, place);
            for (const int y : {2, 0, 1}) store.row(y, pixel(image, 0, y), width, mirror_x);
            CHECK(memory == store_reference(image, table, place, bytes, mirror_x));
          }
        }
      }
    }
  }
}

TEST_CASE("one channel is stored without the others") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    std::vector<Transform> transforms{ToDtype{dtype, true}};
    if (dtype != Dtype::uint8) transforms.emplace_back(Normalize{});
    const PixelTable table = pixel_table(transforms);
    const auto e = static_cast<std::ptrdiff_t>(dtype_bytes(dtype));
    for (const int width : {1, 2, 16, 67, 224}) {
      const TestImage image = noise({width, 3}, static_cast<std::uint64_t>(width));
      for (const bool mirror_x : {false, true}) {
        // The other channels follow the first channel and are cut off.
        const auto bytes = static_cast<std::size_t>(3 * width * e);
        Placement planes{nullptr, width * e, e, 3 * width * e};
        std::vector<std::byte> expected =
            store_reference(image, table, planes, 3 * bytes, mirror_x);
        expected.resize(bytes);
        for (const Cpu cpu : all_cpus()) {
          CAPTURE(cpu_name(cpu));
          std::vector<std::byte> memory(bytes);  // a sanitizer reports writes past the end
          const Placement place{memory.data(), width * e, e, e, 1};
          Store store(cpu);
          store.begin(table, place);
          for (const int y : {2, 0, 1}) store.row(y, pixel(image, 0, y), width, mirror_x);
          CHECK(memory == expected);
          CHECK(store.place_of(0, width) == nullptr);
        }
      }
    }
  }
}

TEST_CASE("16-bit levels are stored as two bytes, or through their table") {
  const int width = 23;
  const TestImage image = noise({width, 1}, 5);
  const auto level = [&](int x) { return pixel(image, x, 0)[0] + 256 * pixel(image, x, 0)[1]; };
  for (const bool mirror_x : {false, true}) {
    std::vector<std::uint16_t> levels(width);
    const PixelTable plain = pixel_table({}, ImageMode::i16);
    Store store;
    store.begin(plain, {reinterpret_cast<std::byte*>(levels.data()), 2 * width, 2, 1, 2});
    store.row(0, pixel(image, 0, 0), width, mirror_x);
    std::vector<float> elements(width);
    const PixelTable scaled = pixel_table({ToDtype{Dtype::float32, true}}, ImageMode::i16);
    store.begin(scaled, {reinterpret_cast<std::byte*>(elements.data()), 4 * width, 4, 4, 1});
    store.row(0, pixel(image, 0, 0), width, mirror_x);
    for (int x = 0; x < width; ++x) {
      const int from = level(mirror_x ? width - 1 - x : x);
      CHECK(levels[static_cast<std::size_t>(x)] == from);
      CHECK(elements[static_cast<std::size_t>(x)] ==
            static_cast<float>(from) * static_cast<float>(1.0 / 65535));
    }
  }
}

TEST_CASE("rows can be made in place where bytes are stored as they are, row after row") {
  std::byte memory[24];
  const PixelTable bytes = pixel_table({}), floats = pixel_table({ToDtype{Dtype::float32, true}});
  const auto place_of = [&](const PixelTable& table, const Placement& place) {
    Store store;
    store.begin(table, place);
    return reinterpret_cast<std::byte*>(store.place_of(1, 4));
  };
  CHECK(place_of(bytes, {memory, 12, 3, 1}) == memory + 12);
  CHECK(place_of(bytes, {memory, 16, 3, 1}) == nullptr);  // gaps between the rows
  CHECK(place_of(bytes, {memory, 4, 1, 8}) == nullptr);
  CHECK(place_of(floats, {memory, 12, 3, 1}) == nullptr);
  CHECK(place_of(floats, {memory, 48, 12, 4}) == nullptr);
}

TEST_CASE("the usual normalizations are arithmetic, bit for bit the table") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    CHECK(pixel_table({Normalize{}, ToDtype{dtype, true}}).formula);
    CHECK(pixel_table({ToDtype{dtype, true}}).formula);
    CHECK(pixel_table({ToDtype{dtype, false}}).formula);
  }
  CHECK_FALSE(pixel_table({Normalize{}, Normalize{}}).formula);
  CHECK_FALSE(pixel_table({ToDtype{Dtype::uint8, true}}).formula);
}

TEST_CASE("whatever the normalization, rows are stored as the table says") {
  const TestImage image = noise({97, 1}, 5);
  int arithmetic = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    CAPTURE(round);
    Random random({.seed = round}, 0);
    Normalize normalize;
    for (std::size_t c = 0; c < 3; ++c) {
      normalize.mean[c] = static_cast<float>(random.below(1000)) / 999;
      normalize.std[c] = static_cast<float>(1 + random.below(1000)) / 777;
    }
    const PixelTable table = pixel_table({normalize});
    arithmetic += table.formula.has_value();
    Placement place{nullptr, 97 * 12, 12, 4};
    for (const Cpu cpu : all_cpus()) {
      std::vector<std::byte> memory(97 * 12);
      place.base = memory.data();
      Store store(cpu);
      store.begin(table, place);
      store.row(0, pixel(image, 0, 0), 97, false);
      REQUIRE(memory == store_reference(image, table, place, memory.size(), false));
    }
  }
  CHECK(arithmetic > 100);
}

TEST_CASE("an erasure overwrites the elements of its window in every type and layout") {
  const std::array<Erasure, 2> erasures{
      Erasure{.window = {3, 1, 9, 2}, .value = {0.5f, -2.0f, 3.0f}},
      Erasure{.window = {-4, 0, 9, 2}, .random = true, .key = 7}};
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    const PixelTable table = pixel_table({ToDtype{dtype, true}, Normalize{}});
    const auto e = static_cast<std::ptrdiff_t>(dtype_bytes(dtype));
    constexpr int kWidth = 21;
    const TestImage image = noise({kWidth, 3}, 5);
    for (Placement place : {Placement{nullptr, kWidth * 3 * e, 3 * e, e},
                            Placement{nullptr, kWidth * e, e, 3 * kWidth * e}}) {
      std::vector<std::byte> memory(static_cast<std::size_t>(3 * 3 * kWidth * e));
      std::vector<std::byte> expected = store_reference(image, table, place, memory.size(), true);
      for (const Erasure& one : erasures) {
        for (int y = 0; y < 3; ++y) {
          for (int x = 0; x < kWidth; ++x) {
            const int in_x = x - one.window.x, in_y = y - one.window.y;
            if (in_x < 0 || in_x >= one.window.width || in_y < 0 || in_y >= one.window.height) {
              continue;
            }
            const auto number = static_cast<std::uint64_t>(in_y * one.window.width + in_x);
            for (int c = 0; c < 3; ++c) {
              const float value =
                  one.random
                      ? normal_number(normal_table(), channel_bits(pixel_bits(one.key, number), c))
                      : one.value[static_cast<std::size_t>(c)];
              const std::uint32_t bits = element_bits(value, dtype);
              std::memcpy(expected.data() + y * place.dy + x * place.dx + c * place.dc, &bits,
                          dtype_bytes(dtype));
            }
          }
        }
      }
      place.base = memory.data();
      Store store;
      store.begin(table, place, erasures);
      for (const int y : {0, 1, 2}) store.row(y, pixel(image, 0, y), kWidth, true);
      CHECK(memory == expected);
    }
  }
}

}  // namespace tundish
