// The names of a pack's records, in blocks of kNamesPerBlock: the lengths, the names, a checksum.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tundish {

class NameBlocks {
 public:
  explicit NameBlocks(std::string target) : target_(std::move(target)) {}

  // The name of the next record. Throws Error(argument), with the target's name, when a name or a
  // block would be larger than a reader takes.
  void add(const std::string& name);

  // Ends the last block. No name follows.
  void finish();

  // Of all blocks, when `name` is the last name.
  std::uint64_t bytes_with(const std::string& name) const {
    return bytes_.size() + 4 * (lengths_.size() + 1) + names_.size() + name.size() + 4;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }  // finished blocks, in order
  // Of each finished block, with its checksum.
  const std::vector<std::uint64_t>& block_bytes() const { return block_bytes_; }

 private:
  const std::string target_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> block_bytes_;
  std::vector<std::uint32_t> lengths_;  // of the block that grows
  std::string names_;
};

}  // namespace tundish
