#include "data/source/arrays/byte_store.h"

#include <algorithm>

#include "data/source/folder_entries.h"

namespace tundish {

ByteStore::ByteStore(const std::string& path)
    : path_(path),
      file_(File::open(path)),
      size_(file_.size()),
      stamp_(content_stamp(file_)),
      written_(written_at(file_)) {}

ByteStore::ByteStore(std::vector<std::byte> memory, std::string path)
    : path_(std::move(path)), memory_(std::move(memory)), size_(memory_.size()) {}

std::uint64_t ByteStore::stamp() const { return in_memory() ? content_stamp(path_) : stamp_; }

void ByteStore::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  const Where where{.file = path_, .offset = offset};
  if (in_memory()) {
    if (!range_fits(offset, out.size(), size_)) {
      throw Error(ErrorCode::source_changed, where, "the bytes end early");
    }
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return;
  }
  if (file_.read_at(out, offset) < out.size()) {
    throw Error(ErrorCode::source_changed, where, "the file became shorter after it was opened");
  }
  check_unwritten(file_, written_);
}

}  // namespace tundish
