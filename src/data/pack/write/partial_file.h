// A pack that grows under a hidden name beside its target and is renamed to the target when
// complete. The file outlives the process unless discard() is called; the journal beside it
// records the valid part. Only the owner of the journal's lock may use the file. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "data/pack/output_target.h"

namespace tundish {

class PartialFile {
 public:
  // `leaf`: the hidden name. Throws what OutputTarget throws, and system errors.
  PartialFile(const std::string& target, bool replace, std::string leaf);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return target_.path(); }
  bool had_contents() const { return had_contents_; }  // true if the file had contents when opened

  // Reserves disk space. Does nothing where the file system does not support it.
  void reserve(std::uint64_t bytes);

  void write_at(Bytes bytes, std::uint64_t offset) { file_.write_at(bytes, offset); }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const {
    return file_.read_at(out, offset);
  }

  void sync();                         // syncs the contents; the first call also syncs the name
  void set_size(std::uint64_t bytes);  // frees the space behind `bytes`; must not be called on a
                                       // published file
  void seal(std::uint64_t bytes);      // set_size() and sync() of the complete file
  // Renames the file to the target. If this throws, the target is unchanged, unless only the sync
  // of the folder failed: then the target is the new file.
  void publish();
  bool is_published() const { return is_published_; }
  void discard();  // removes the file unless it is published

 private:
  OutputTarget target_;
  std::string leaf_;
  File file_;
  bool had_contents_ = false, is_published_ = false;
  bool name_is_durable_ = false;
};

}  // namespace tundish
