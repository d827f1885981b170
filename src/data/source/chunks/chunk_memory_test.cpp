#include "data/source/chunks/chunk_memory.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/testing.h"
#include "data/source/chunks/chunked_array.h"

namespace tundish {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kLimit = 1 << 20;
constexpr std::uint64_t kSamples = 40;

// Chunk n holds the byte n. Records the maximum memory in use while chunks are loaded.
class SlowLoader : public ChunkLoader {
 public:
  SlowLoader(const ChunkMemory& memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes) {}

  void load(Chunk& out, std::span<const std::uint64_t> at) const override {
    const int now = ++loading, before = most_loading;
    if (now > before) most_loading = now;
    if (memory_.used() > most_used) most_used = memory_.used();
    std::this_thread::sleep_for(milliseconds(1));
    out.shape = {1, bytes_};
    out.bytes.assign(bytes_, static_cast<std::byte>(at[0]));
    --loading;
  }

  static inline std::atomic<int> loading = 0, most_loading = 0;
  static inline std::atomic<std::uint64_t> most_used = 0;

 private:
  const ChunkMemory& memory_;
  std::uint64_t bytes_;
};

// Makes arrays with 16 bytes per sample and one sample per chunk.
std::vector<std::unique_ptr<ChunkedArray>> arrays_with(ChunkMemory& memory, std::uint64_t bytes) {
  SlowLoader::most_loading = 0;
  SlowLoader::most_used = 0;
  std::vector<std::unique_ptr<ChunkedArray>> out;
  for (int n = 0; n < 5; ++n) {
    const ChunkGrid grid{.shape = {kSamples, 16}, .chunk = {1, bytes}, .fill = {std::byte{0}}};
    out.push_back(std::make_unique<ChunkedArray>(grid, std::make_unique<SlowLoader>(memory, bytes),
                                                 ChunkedArray::Keep{}, memory));
  }
  return out;
}

// Reads samples of all arrays at random in eight threads.
void read_all(const std::vector<std::unique_ptr<ChunkedArray>>& arrays, int rounds) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Random random({.seed = test_seed()}, static_cast<std::uint64_t>(t));
      std::vector<std::byte> sample;
      for (int round = 0; round < rounds; ++round) {
        const std::uint64_t i = random.below(kSamples);
        arrays[random.below(arrays.size())]->read_sample(sample, 0, i);
        wrong += sample != std::vector<std::byte>(16, static_cast<std::byte>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("chunk memory: chunks of all arrays and threads share one limit") {
  ChunkMemory memory(kLimit);
  auto arrays = arrays_with(memory, 64 << 10);
  read_all(arrays, 100);
  CHECK(SlowLoader::most_used <= kLimit);
  CHECK(SlowLoader::most_loading <= 4);  // four times 64 KiB each
  CHECK(SlowLoader::most_loading >= 2);
  CHECK(memory.used() >= 64 << 10);  // chunks are kept
  arrays.pop_back();
  read_all(arrays, 1);
  arrays.clear();
  CHECK(memory.used() == 0);
}

TEST_CASE("chunk memory: a chunk that alone is over the limit is loaded alone") {
  ChunkMemory memory(kLimit);
  auto arrays = arrays_with(memory, kLimit / 2);
  read_all(arrays, 10);
  CHECK(SlowLoader::most_loading == 1);
  CHECK(SlowLoader::most_used == 2 * kLimit);
}

TEST_CASE("chunk memory: a charge is free when it ends, and smaller once the chunk is loaded") {
  ChunkMemory memory(kLimit);
  {
    ChunkMemory::Charge charge = memory.take(1000);
    CHECK(memory.used() == 1000);
    charge.loaded(400);
    CHECK(memory.used() == 400);
    charge.loaded(1);  // loaded once
    ChunkMemory::Charge other = std::move(charge);
    CHECK(memory.used() == 400);
    other = memory.take(10);
    CHECK(memory.used() == 10);
  }
  CHECK(memory.used() == 0);
}

TEST_CASE("chunk memory: a forked process does not wait for threads of its parent") {
  ChunkMemory memory(kLimit);
  const ChunkMemory::Charge held = memory.take(kLimit);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20);
    const ChunkMemory::Charge own = memory.take(kLimit);
    ::_exit(memory.used() == kLimit ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace tundish
