// A pack that grows under a hidden name beside its target until it is complete; then it gets the
// target's name. It outlives the process unless discard() is called: the journal beside it says
// how much of it is good. Whoever has the journal's lock may use it. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "data/pack/output_target.h"

namespace tundish {

class PartialFile {
 public:
  // `leaf`: the hidden name. Throws what OutputTarget throws, and errors of the system.
  PartialFile(const std::string& target, bool replace, std::string leaf);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& path() const { return target_.path(); }
  bool had_contents() const { return had_contents_; }  // when it was opened

  // Takes the space from the disk now. Does nothing where the file system cannot.
  void reserve(std::uint64_t bytes);

  void write_at(Bytes bytes, std::uint64_t offset) { file_.write_at(bytes, offset); }
  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const {
    return file_.read_at(out, offset);
  }

  void sync();                         // of the contents; also of the name, the first time
  void set_size(std::uint64_t bytes);  // what is cut off gives its space back; never of a
                                       // published file
  void seal(std::uint64_t bytes);      // set_size and sync: it is complete
  // Gives the file its name. Throws; the target is then as it was before, unless only the folder
  // could not be made durable: then it is the new file.
  void publish();
  bool is_published() const { return is_published_; }
  void discard();  // removes it, unless it is published

 private:
  OutputTarget target_;
  std::string leaf_;
  File file_;
  bool had_contents_ = false, is_published_ = false;
  bool name_is_durable_ = false;
};

}  // namespace tundish
