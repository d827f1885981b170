// Helpers for engine tests: samples in memory, and an epoch of batches.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "augment/transform.h"
#include "loader/engine/engine.h"

namespace tundish {

using namespace std::chrono_literals;

// Samples in memory: sample i is a .npy image of `side` x `side` pixels of level i % 256.
class LevelSource : public Source {
 public:
  explicit LevelSource(std::uint64_t count, int side = 4) : count_(count), side_(side) {
    schema_.fields = {
        {"image", FieldType::image}, {"label", FieldType::label}, {"name", FieldType::text}};
  }

  std::set<std::uint64_t> bad;         // samples that throw
  std::set<std::uint64_t> larger;      // samples of another size
  std::atomic<bool>* stuck = nullptr;  // reads wait while true
  mutable std::atomic<int> reads{0};   // number of reads started

  std::uint64_t count() const override { return count_; }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override {
    return {.label = static_cast<std::int64_t>(i % 10)};
  }
  std::string key(std::uint64_t i) const override { return "sample" + std::to_string(i); }
  std::string path() const override { return "memory"; }
  std::uint64_t bytes(std::uint64_t) const override { return 0; }
  bool sizes_known() const override { return false; }
  std::string fingerprint() const override { return "memory" + std::to_string(count_); }
  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    ++reads;
    while (stuck && *stuck) std::this_thread::sleep_for(1ms);
    if (bad.contains(i))
      throw SampleError(ErrorCode::record_checksum, {.file = "memory", .record = i}, "planted");
    const int side = larger.contains(i) ? side_ + 1 : side_;
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                         std::to_string(side) + ", " + std::to_string(side) + "), }";
    header.resize(117, ' ');
    header += '\n';
    std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                       '\0' + header +
                       std::string(static_cast<std::size_t>(side) * static_cast<std::size_t>(side),
                                   static_cast<char>(i % 256));
    out.fields.assign(3, {});
    out.fields[0].resize(file.size());
    std::memcpy(out.fields[0].data(), file.data(), file.size());
    if (fields & 4) {
      const std::string name = key(i);
      out.fields[2].resize(name.size());
      std::memcpy(out.fields[2].data(), name.data(), name.size());
    }
  }

 private:
  std::uint64_t count_;
  int side_;
  Schema schema_;
};

struct Seen {
  std::uint64_t epoch;
  std::vector<std::int64_t> samples;
  std::vector<std::byte> pixels;
  bool operator==(const Seen&) const = default;
};

inline std::vector<Seen> run_epoch(Engine& engine, std::uint64_t epoch,
                                   std::uint64_t position = 0) {
  engine.start(epoch, position);
  std::vector<Seen> all;
  for (;;) {
    Batch batch;
    const Engine::Next next = engine.next(batch, 20s);
    if (next == Engine::Next::end) return all;
    REQUIRE(next == Engine::Next::batch);
    std::vector<std::byte> pixels;
    for (const BatchView& view : batch.views) {
      const std::size_t bytes = batch.count * view.crops * 3 *
                                static_cast<std::size_t>(view.size.width * view.size.height) *
                                dtype_bytes(view.dtype);
      pixels.insert(pixels.end(), view.pixels, view.pixels + bytes);
    }
    all.push_back({batch.epoch, batch.samples, std::move(pixels)});
  }
}

inline LoaderOptions options(int threads, std::uint32_t batch_size) {
  LoaderOptions out;
  out.threads = threads;
  out.batch_size = batch_size;
  out.shuffle = true;
  out.seed = 3;
  out.transforms = {RandomResizedCrop{.size = {5, 5}}, RandomHorizontalFlip{}};
  return out;
}

}  // namespace tundish
