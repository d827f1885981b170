#include "data/source/formats/chunked/hdf5_blocks.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tundish {
namespace {

constexpr std::uint64_t kSpare = 1 << 20;  // bytes that may be read beyond twice the file

// Reads of a file of zeros, which are counted.
struct Zeros {
  std::uint64_t bytes_read = 0;
  Hdf5Blocks blocks;
  std::vector<std::byte> block;

  explicit Zeros(std::uint64_t file_size)
      : blocks(file_size, [this](ByteSpan out, std::uint64_t) {
          bytes_read += out.size();
          return true;
        }) {}
};

// The checksum of libhdf5, at the end of a block.
std::vector<std::byte> checked_block(const std::string& text) {
  std::vector<std::byte> out(text.size() + 4);
  std::memcpy(out.data(), text.data(), text.size());
  store(out.data() + text.size(), hdf5_checksum(Bytes(out).first(text.size())));
  return out;
}

std::string reason_of(const std::optional<Fault>& fault) { return fault ? fault->reason : ""; }

}  // namespace

TEST_CASE("HDF5 blocks: a file is read little more than twice, wherever its addresses lead") {
  constexpr std::uint64_t kFile = 3 << 20, kBlock = 4096;
  Zeros file(kFile);
  std::optional<Fault> fault;
  std::uint64_t reads = 0;
  while (!(fault = file.blocks.read(file.block, 8, kBlock)) && reads < 1'000'000) ++reads;
  CHECK(reads == (2 * kFile + kSpare) / kBlock);
  CHECK(file.bytes_read == reads * kBlock);
  CHECK(reason_of(fault) == "HDF5: metadata are read twice: addresses overlap");
  CHECK(fault->offset == 8);
}

TEST_CASE("HDF5 blocks: values of several datasets at one place are charged for each") {
  Zeros file(1000);
  REQUIRE_FALSE(file.blocks.charge(kSpare, 0));
  REQUIRE_FALSE(file.blocks.charge(2000, 0));
  CHECK(file.blocks.charge(1, 40));
  CHECK(file.bytes_read == 0);
}

TEST_CASE("HDF5 blocks: a block outside the file takes no memory") {
  Zeros file(1000);
  for (const auto& [offset, bytes] : {std::pair{0ull, 1001ull},
                                      {1000ull, 1ull},
                                      {~0ull, 8ull},
                                      {8ull, ~0ull},
                                      {1ull << 63, 1ull << 63}}) {
    CHECK(reason_of(file.blocks.read(file.block, offset, bytes)) ==
          "HDF5: an address leads out of the file");
    CHECK(file.block.capacity() == 0);
  }
  CHECK_FALSE(file.blocks.read(file.block, 992, 8));
}

TEST_CASE("HDF5 blocks: a block with another signature or checksum is damaged") {
  std::vector<std::byte> bytes = checked_block("TREE and its keys");
  Hdf5Blocks blocks(bytes.size(), [&](ByteSpan out, std::uint64_t at) {
    std::memcpy(out.data(), bytes.data() + at, out.size());
    return true;
  });
  std::vector<std::byte> block;
  CHECK_FALSE(blocks.read_checked(block, 0, bytes.size(), "TREE"));
  CHECK(reason_of(blocks.read_checked(block, 0, bytes.size(), "SNOD")) ==
        "HDF5: a block has another signature");
  CHECK(reason_of(blocks.read_checked(block, 0, 7, "TREE")) ==
        "HDF5: a block has another signature");
  bytes[6] ^= std::byte{1};
  CHECK(reason_of(blocks.read_checked(block, 0, bytes.size(), "TREE")) ==
        "HDF5: a block has another checksum");
}

}  // namespace tundish
