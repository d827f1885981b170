#include "data/source/chunks/chunk_steps.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <map>
#include <string>

#include "base/testing.h"
#include "data/source/chunks/decompress_chunk.h"
#include "data/source/chunks/shuffle.h"

namespace tundish {
namespace {

struct ChunkSample {
  const char* name;
  const char* codec;
  std::string hex;
};

const std::vector<ChunkSample>& samples() {
  static const std::vector<ChunkSample> all = {
#include "data/source/chunks/chunk_samples.inc"
  };
  return all;
}

const std::map<std::string, std::vector<ChunkStep>>& steps() {
  static const std::map<std::string, std::vector<ChunkStep>> all = {
      {"gzip", {{ChunkCodec::gzip}}},
      {"zstd", {{ChunkCodec::zstd}}},
      {"xz", {{ChunkCodec::xz}}},
      {"bzip2", {{ChunkCodec::bzip2}}},
      {"lzf", {{ChunkCodec::lzf}}},
      {"lz4_sized", {{ChunkCodec::lz4_sized}}},
      {"lz4_n5", {{ChunkCodec::lz4_n5}}},
      {"lz4_hdf5", {{ChunkCodec::lz4_hdf5}}},
      {"blosc", {{ChunkCodec::blosc}}},
      {"shuffle_gzip", {{ChunkCodec::shuffle, 2}, {ChunkCodec::gzip}}},
      {"shuffle_gzip_fletcher32",
       {{ChunkCodec::shuffle, 2}, {ChunkCodec::gzip}, {ChunkCodec::fletcher32}}}};
  return all;
}

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

// The same chunk as in tests/formats/chunks/make.py.
std::vector<std::byte> chunk() {
  std::vector<std::byte> out(3000);
  for (int i = 0; i < 1500; ++i) {
    store(&out[static_cast<std::size_t>(2 * i)],
          static_cast<std::uint16_t>(i / 8 % 50 + i % 4 * 256 + i / 700));
  }
  return out;
}

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> out(size);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random.below(256));
  return out;
}

TEST_CASE("chunks of the original libraries are decompressed") {
  CHECK(samples().size() == 30);
  for (const ChunkSample& sample : samples()) {
    CAPTURE(sample.name);
    const auto stored = from_hex(sample.hex);
    auto wanted = chunk();
    if (std::string(sample.name) == "blosc copied") wanted.resize(200);
    if (std::string(sample.codec) == "fletcher32") {
      CHECK(load<std::uint32_t>(stored.data()) == fletcher32(wanted));
      continue;
    }
    std::vector<std::byte> out(wanted.size());
    const auto fault = undo_steps(out, stored, steps().at(sample.codec));
    CHECK_MESSAGE(!fault, fault->reason);
    CHECK(out == wanted);
  }
}

TEST_CASE("a chunk of another size, and one that is cut off, are damaged") {
  for (const ChunkSample& sample : samples()) {
    if (std::string(sample.codec) == "fletcher32") continue;
    CAPTURE(sample.name);
    const auto stored = from_hex(sample.hex);
    const std::size_t bytes = std::string(sample.name) == "blosc copied" ? 200 : 3000;
    for (const std::size_t other : {bytes - 1, bytes + 1, std::size_t{0}}) {
      std::vector<std::byte> out(other);
      const auto fault = undo_steps(out, stored, steps().at(sample.codec));
      REQUIRE(fault);
      CHECK(fault->code == ErrorCode::source_damaged);
    }
    std::vector<std::byte> out(bytes);
    const Bytes half = Bytes(stored).first(stored.size() / 2);
    CHECK(undo_steps(out, half, steps().at(sample.codec)));
    CHECK(undo_steps(out, {}, steps().at(sample.codec)));
  }
}

TEST_CASE("changed bytes never lead out of the chunk") {
  Random random({.seed = test_seed()}, 0);
  for (const ChunkSample& sample : samples()) {
    if (std::string(sample.codec) == "fletcher32") continue;
    for (int round = 0; round < 50; ++round) {
      auto stored = from_hex(sample.hex);
      for (int n = between(random, 1, 3); n > 0; --n) {
        stored[random.below(stored.size())] = static_cast<std::byte>(random.below(256));
      }
      std::vector<std::byte> out(3000);
      const auto fault = undo_steps(out, stored, steps().at(sample.codec));
      if (fault) CHECK(!fault->reason.empty());
    }
  }
}

TEST_CASE("a wrong checksum is named") {
  auto stored = chunk();
  stored.resize(3004);
  store(&stored[3000], fletcher32(Bytes(stored).first(3000)) + 1);
  std::vector<std::byte> out(3000);
  const ChunkStep step{ChunkCodec::fletcher32};
  const auto fault = undo_steps(out, stored, {&step, 1});
  REQUIRE(fault);
  CHECK(fault->reason.starts_with("fletcher32: stored "));
  CHECK(fault->offset == 3000);
}

TEST_CASE("shuffles are as their slow twins") {
  Random random({.seed = test_seed()}, 0);
  for (const std::size_t element : {1u, 2u, 3u, 4u, 8u, 16u}) {
    for (const std::size_t size : {0u, 1u, 7u, 64u, 128u, 1000u, 1024u}) {
      const auto in = random_bytes(random, size);
      std::vector<std::byte> out(size), twin(size);
      unshuffle_bytes(out, in, element);
      unshuffle_bytes_reference(twin, in, element);
      CHECK(out == twin);
      unshuffle_bits(out, in, element);
      unshuffle_bits_reference(twin, in, element);
      CHECK(out == twin);
    }
  }
}

// Compresses with zlib; window_bits over 15 selects the gzip header.
std::vector<std::byte> deflated(Bytes bytes, int level, int window_bits) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<std::byte> out(deflateBound(&stream, bytes.size()) + 32);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST_CASE("gzip at once is what zlib gives, whole and damaged") {
  Random random({.seed = test_seed()}, 0);
  int whole = 0, damaged = 0;
  for (int round = 0; round < 400; ++round) {
    auto plain = random_bytes(random, random.below(3000));
    for (auto& byte : plain)
      byte &= std::byte{static_cast<std::uint8_t>(random.below(2) ? 3 : 255)};
    const int level = static_cast<int>(random.below(10));
    auto packed =
        deflated(plain, level, round % 2 ? 15 + 16 : 9 + static_cast<int>(random.below(7)));
    if (random.below(2)) packed.resize(packed.size() + random.below(4));  // ignored tail
    if (random.below(2)) packed[random.below(packed.size())] ^= std::byte{1} << random.below(8);
    if (random.below(8) == 0) packed.resize(random.below(packed.size()));
    std::vector<std::byte> out(plain.size() + (random.below(8) == 0)), twin(out.size());
    const auto fault = decompress_gzip(out, packed), slow = decompress_gzip_reference(twin, packed);
    REQUIRE(fault.has_value() == slow.has_value());
    REQUIRE((fault || out == twin));
    ++(fault ? damaged : whole);
  }
  CHECK(whole > 50);
  CHECK(damaged > 50);
}

TEST_CASE("elements change their byte order") {
  std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  swap_elements(bytes, 2);
  CHECK(load<std::uint32_t>(bytes.data()) == 0x03040102);
  swap_elements(bytes, 4);
  CHECK(load<std::uint32_t>(bytes.data()) == 0x02010403);
}

}  // namespace
}  // namespace tundish
