// Encodes the names of a pack's records in blocks of kNamesPerBlock: lengths, names, a checksum.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

class NameBlocks {
 public:
  explicit NameBlocks(std::string target) : target_(std::move(target)) {}

  // Adds the name of the next record. Throws Error(argument) with the target's name if a name or a
  // block exceeds the limit of a reader.
  void add(const std::string& name);

  // Ends the last block. No name may follow.
  void finish();

  // Returns the bytes of all blocks if `name` is the last name.
  std::uint64_t bytes_with(const std::string& name) const {
    return bytes_.size() + 4 * (lengths_.size() + 1) + names_.size() + name.size() + 4;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }  // finished blocks, in order
  // per finished block, with its checksum
  const std::vector<std::uint64_t>& block_bytes() const { return block_bytes_; }

 private:
  const std::string target_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> block_bytes_;
  std::vector<std::uint32_t> lengths_;  // lengths in the unfinished block
  std::string names_;
};

}  // namespace tundish
