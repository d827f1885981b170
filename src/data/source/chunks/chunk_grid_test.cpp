#include "data/source/chunks/chunk_grid.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/testing.h"
#include "data/source/chunks/chunked_array.h"

namespace tundish {
namespace {

using Sides = std::vector<std::uint64_t>;

std::uint64_t product(const Sides& sides) {
  std::uint64_t out = 1;
  for (const std::uint64_t side : sides) out *= side;
  return out;
}

// An in-memory array: element n of the C-ordered array is n, as uint16.
class CountingLoader : public ChunkLoader {
 public:
  CountingLoader(const ChunkGrid& grid, bool cut_off, int missing_every,
                 std::atomic<int>* loads = nullptr)
      : grid_(grid), cut_off_(cut_off), missing_every_(missing_every), loads_(loads) {}

  void load(Chunk& out, std::span<const std::uint64_t> at) const override {
    if (loads_ != nullptr) ++*loads_;
    out.bytes.clear();
    out.shape = grid_.chunk;
    std::uint64_t sum = 0;
    for (const std::uint64_t a : at) sum += a;
    if (missing_every_ != 0 && sum % static_cast<std::uint64_t>(missing_every_) == 1) return;
    for (std::size_t a = 0; cut_off_ && a < at.size(); ++a) {
      out.shape[a] = std::min(grid_.chunk[a], grid_.shape[a] - at[a] * grid_.chunk[a]);
    }
    out.bytes.resize(2 * product(out.shape));
    std::vector<std::size_t> order = grid_.stored_axes;
    if (order.empty()) {
      for (std::size_t a = 0; a < at.size(); ++a) order.push_back(a);
    }
    for (std::uint64_t n = 0; n < product(out.shape); ++n) {
      std::uint64_t rest = n;
      Sides place(at.size());
      for (std::size_t k = order.size(); k > 0; --k) {
        place[order[k - 1]] = rest % out.shape[order[k - 1]];
        rest /= out.shape[order[k - 1]];
      }
      std::uint64_t value = 0;
      for (std::size_t a = 0; a < at.size(); ++a) {
        value = value * grid_.shape[a] + at[a] * grid_.chunk[a] + place[a];
      }
      store(&out.bytes[2 * n], static_cast<std::uint16_t>(value));
    }
  }

 private:
  const ChunkGrid grid_;
  bool cut_off_;
  int missing_every_;
  std::atomic<int>* loads_;
};

ChunkGrid random_grid(Random& random) {
  ChunkGrid grid{.element = ArrayElement::uint16, .fill = {std::byte{0xcd}, std::byte{0xab}}};
  const int axes = between(random, 1, 4);
  for (int a = 0; a < axes; ++a) {
    grid.shape.push_back(static_cast<std::uint64_t>(between(random, 1, 7)));
    grid.chunk.push_back(static_cast<std::uint64_t>(between(random, 1, 8)));
  }
  if (random.below(2) == 0) {
    for (int a = axes; a > 0; --a) grid.stored_axes.push_back(static_cast<std::size_t>(a - 1));
  }
  return grid;
}

TEST_CASE("a sample of chunks along any axis is what the slow twin copies") {
  Random random({.seed = test_seed()}, 0);
  for (int round = 0; round < 300; ++round) {
    const ChunkGrid grid = random_grid(random);
    REQUIRE_FALSE(check_grid(grid));
    const std::size_t axis = random.below(grid.shape.size());
    const bool cut_off = random.below(2) == 0;
    const int missing = between(random, 0, 3);
    const CountingLoader loader(grid, cut_off, missing);
    const ChunkedArray array(grid, std::make_unique<CountingLoader>(grid, cut_off, missing),
                             {.bytes = 64, .bytes_with_read = 64});
    ArrayType type;
    REQUIRE_FALSE(sample_type(type, grid, axis));
    std::uint64_t inner = 1;  // elements of the axes behind this one
    for (std::size_t a = axis + 1; a < grid.shape.size(); ++a) inner *= grid.shape[a];
    for (std::uint64_t i = 0; i < grid.shape[axis]; ++i) {
      std::vector<std::byte> out, twin(*array_bytes(type), std::byte{0x11});
      array.read_sample(out, axis, i);
      for_each_chunk(grid, axis, i, [&](std::span<const std::uint64_t> at) {
        Chunk chunk;
        loader.load(chunk, at);
        copy_part_reference(twin, grid, axis, i, at, chunk);
      });
      CHECK(out == twin);
      for (std::uint64_t n = 0; missing == 0 && n < out.size() / 2; ++n) {
        const std::uint64_t whole = (n / inner * grid.shape[axis] + i) * inner + n % inner;
        REQUIRE(load<std::uint16_t>(&out[2 * n]) == whole);
      }
    }
  }
}

TEST_CASE("a chunk that holds many samples is loaded once, also by many threads") {
  const ChunkGrid grid{.element = ArrayElement::uint16,
                       .shape = {64, 4},
                       .chunk = {32, 4},
                       .stored_axes = {},
                       .fill = std::vector<std::byte>(2)};
  std::atomic<int> loads = 0;
  const ChunkedArray array(grid, std::make_unique<CountingLoader>(grid, false, 0, &loads));
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<std::byte> out;
      for (std::uint64_t i = 0; i < 64; ++i) {
        array.read_sample(out, 0, i);
        if (load<std::uint16_t>(out.data()) != i * 4) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(loads == 2);
}

TEST_CASE("an epoch in random order loads each chunk once, where the unread ones fit") {
  constexpr std::uint64_t kSamples = 64 * 8 - 3,
                          kChunkBytes = 8 * 4 * 2;  // the last chunk is truncated
  const ChunkGrid grid{.element = ArrayElement::uint16,
                       .shape = {kSamples, 4},
                       .chunk = {8, 4},
                       .stored_axes = {},
                       .fill = std::vector<std::byte>(2)};
  Random random({.seed = test_seed()}, 0);
  std::vector<std::uint64_t> order(kSamples);
  std::iota(order.begin(), order.end(), 0);
  for (const std::uint64_t kept : {64u, 16u, 4u}) {
    std::atomic<int> loads = 0;
    const ChunkedArray array(grid, std::make_unique<CountingLoader>(grid, false, 0, &loads),
                             {.bytes = kept * kChunkBytes, .bytes_with_read = 4 * kChunkBytes});
    std::vector<std::byte> out;
    const auto epoch = [&] {
      loads = 0;
      for (const std::uint64_t i : order) {
        array.read_sample(out, 0, i);
        REQUIRE(load<std::uint16_t>(out.data()) == i * 4);
      }
      return loads.load();
    };
    CHECK(epoch() == 64);  // in file order, with any cache size
    for (std::size_t i = kSamples - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    CHECK((epoch() <= 64) == (kept == 64));
    CHECK((epoch() <= 64) == (kept == 64));
    std::ranges::sort(order);
  }
}

TEST_CASE("grids that cannot be are refused") {
  const std::vector<std::byte> fill(1);
  const auto fault = [&](Sides shape, Sides chunk) {
    return check_grid({.shape = shape, .chunk = chunk, .stored_axes = {}, .fill = fill});
  };
  CHECK(fault({}, {}));
  CHECK(fault({4}, {0}));
  CHECK(fault({4, 4}, {4}));
  CHECK(fault({4}, {1ull << 40})->code == ErrorCode::format_unsupported);
  CHECK(fault({1ull << 40, 1ull << 40}, {1, 1})->code == ErrorCode::source_damaged);
  CHECK_FALSE(fault({0, 4}, {1, 4}));
  ArrayType type;
  const ChunkGrid grid{
      .shape = {60'000'000, 4}, .chunk = {1'000'000, 4}, .stored_axes = {}, .fill = fill};
  CHECK(sample_type(type, grid, 0)->code == ErrorCode::format_unsupported);
  CHECK(sample_type(type, grid, 2)->code == ErrorCode::argument);
  CHECK_FALSE(sample_type(type, grid, 1));
  CHECK(type == ArrayType{ArrayElement::uint8, {60'000'000}});
}

}  // namespace
}  // namespace tundish
