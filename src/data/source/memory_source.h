// For tests and fuzzers: a dataset in memory, and small images for it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/source.h"

namespace tundish {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> random_bytes(std::size_t count, Random& random) {
  std::vector<std::byte> out(count);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.next() >> 56);
  return out;
}

// Returns an image that is fast to make: a .npy file of height x width x 3 random bytes.
inline std::vector<std::byte> npy_image(int width, int height, Random& random) {
  std::string head = fmt::format(
      "{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}, 3), }}", height, width);
  head.resize(64 - 10 + 63, ' ');
  head += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(head.size());
  start += '\0';
  std::vector<std::byte> out = bytes_of(start + head);
  const auto pixels = random_bytes(static_cast<std::size_t>(width * height * 3), random);
  out.insert(out.end(), pixels.begin(), pixels.end());
  return out;
}

class MemorySource : public Source, public FileTimes {
 public:
  struct Item {
    std::string key;
    std::int64_t label = -1;
    std::vector<std::vector<std::byte>> fields;  // indexed by field number; empty for the label
    ErrorCode fails = ErrorCode::none;           // error thrown when reading
  };

  Schema schema_;
  std::vector<Item> items;
  bool by_number = true;    // false: only scan() works
  bool knows_sizes = true;  // false: bytes() is 0
  bool may_be_read = true;  // false: every read fails for the whole source

  std::uint64_t count() const override { return items.size(); }
  const Schema& schema() const override { return schema_; }
  SampleInfo info(std::uint64_t i) const override { return {.label = items[i].label}; }
  std::string key(std::uint64_t i) const override { return items[i].key; }
  std::string path() const override { return "memory"; }
  std::string file_times() const override { return ""; }
  std::uint64_t bytes(std::uint64_t i) const override {
    std::uint64_t sum = 0;
    for (const auto& field : items[i].fields) sum += field.size();
    return knows_sizes ? sum : 0;
  }
  bool sizes_known() const override { return knows_sizes; }
  bool random_access() const override { return by_number; }
  void read(Sample& out, std::uint64_t i, FieldSet) const override {
    if (!by_number) throw Error(ErrorCode::no_random_access, {.file = path()}, "");
    fetch(out, i);
  }
  void scan(const SampleSink& sink, const BadSink& bad) const override {
    for (std::uint64_t i = 0; i < count(); ++i) {
      Sample sample;
      try {
        fetch(sample, i);
      } catch (const SampleError& error) {
        if (!bad(i, error)) return;
        continue;
      }
      if (!sink(i, sample)) return;
    }
  }

 private:
  void fetch(Sample& out, std::uint64_t i) const {
    if (!may_be_read) throw Error(ErrorCode::io_read, {.file = path()}, "the disk does not answer");
    if (items[i].fails != ErrorCode::none) {
      throw SampleError(items[i].fails, {.file = path(), .record = i, .key = items[i].key}, "");
    }
    out.fields = items[i].fields;
  }
};

// Makes images with labels; the sizes of the images are random, up to `side`.
inline MemorySource image_source(std::uint64_t count, int side, std::uint64_t seed = 1) {
  MemorySource source;
  source.schema_ = {
      {{"image", FieldType::image}, {"label", FieldType::label}}, {"cat", "dog", "emu"}, "test"};
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random({.seed = seed, .sample = i}, 0);
    const auto bound = static_cast<std::uint64_t>(side);
    const int width = 1 + static_cast<int>(random.below(bound));
    const int height = 1 + static_cast<int>(random.below(bound));
    source.items.push_back({fmt::format("cat/{}.npy", i),
                            static_cast<std::int64_t>(i % 3),
                            {npy_image(width, height, random), {}}});
  }
  return source;
}

}  // namespace tundish
