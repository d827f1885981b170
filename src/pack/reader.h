// Reads a .tnd file. Everything is checked before it is used, sizes before memory is taken.
// docs/format.md is the specification; docs/read_tnd.py is this file for students.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "pack/format.h"
#include "source/source.h"

namespace tundish {

class Pack : public Source {
 public:
  // Reads and checks head, tail, metadata and index; no record. Throws Error 101 to 108, 3xx, 5xx.
  static std::shared_ptr<const Pack> open(const std::string& path);

  std::uint64_t count() const override;
  const Schema& schema() const override;
  SampleInfo info(std::uint64_t i) const override;
  std::string key(std::uint64_t i) const override;  // reads the block of names
  std::string path() const override;
  std::uint64_t bytes(std::uint64_t i) const override;
  bool extent(std::uint64_t i, int field, Extent& out) const override;
  void read(Sample& out, std::uint64_t i, FieldSet fields = kAllFields) const override;
  std::string fingerprint() const override;  // the pack id in hex

  std::uint64_t file_bytes() const;
  std::uint64_t field_bytes(std::uint64_t i, int field) const;  // payload, without its checksum
  std::uint32_t alignment() const;
  const std::array<std::byte, 16>& id() const;
  const std::string& metadata() const;  // the JSON as stored

  // Fetches all keys at once, for `ls`.
  std::vector<std::string> keys() const;

  // Every check there is: each piece, the padding, the digest of the file. Calls `bad` for each
  // damaged record or part and goes on; `progress` with bytes done, false from it ends the check.
  struct Damage {
    Error error;
  };
  void verify(const std::function<void(const Error&)>& bad,
              const std::function<bool(std::uint64_t)>& progress = {}) const;

 private:
  Pack() = default;
};

}  // namespace tundish
