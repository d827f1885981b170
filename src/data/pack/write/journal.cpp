#include "data/pack/write/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "data/pack/checksum.h"
#include "data/pack/format.h"

namespace tundish {
namespace {

constexpr std::size_t kHeaderBytes = 8;

// A file made by another user could inject that user's bytes into a pack.
bool is_ours(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
         status.st_uid == ::geteuid();
}

bool is_unlinked(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

Journal::Journal(const OutputTarget& target, bool resume) : target_(target), ignore_old_(!resume) {
  const std::string leaf = target.hidden_name("journal");
  for (int attempt = 0; !open(leaf); ++attempt) {
    if (attempt == 100) {
      throw Error(ErrorCode::io_write, {.file = target.beside(leaf)}, "it appears and disappears");
    }
  }
  ignore_old_ |= !suffix_.empty();
}

bool Journal::open(const std::string& leaf) {
  const int folder = target_.folder_descriptor();
  // Allocates all memory before the file exists.
  std::string path = target_.beside(leaf);
  leaf_ = leaf;
  const int descriptor =
      ::openat(folder, leaf.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) throw_errno(path, "create a file beside the target", true);
  file_ = File(descriptor, std::move(path));
  if (!lock()) {
    // Without locks, nothing reveals whether a pack with the shared name is still running.
    if (!suffix_.empty()) return true;
    suffix_ = fmt::format(".{}", ::getpid());
    return open(leaf + suffix_);
  }
  if (is_unlinked(descriptor)) return false;
  if (is_ours(descriptor)) return true;
  if (::unlinkat(folder, leaf.c_str(), 0) != 0) {
    throw_errno(target_.beside(leaf), "replace the file of another user", true);
  }
  return false;
}

bool Journal::lock() {
  int result;
  do {
    result = ::flock(file_.descriptor(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  if (errno == EWOULDBLOCK) throw Error(ErrorCode::output_busy, {.file = target_.path()}, "");
  return false;
}

bool read_journal_block(std::vector<std::byte>& payload, Journal::Place& place, std::uint64_t size,
                        const ReadJournal& read) {
  std::array<std::byte, kHeaderBytes> header;
  if (read(header, place.end) != header.size()) return false;
  const auto bytes = load<std::uint32_t>(header.data() + 4);
  if (load<std::uint32_t>(header.data()) != kBlockMagic || bytes > kMaxBlockBytes ||
      size < place.end || size - place.end < kHeaderBytes + bytes + kCrcBytes) {
    return false;
  }
  payload.resize(bytes + kCrcBytes);
  if (read(payload, place.end + kHeaderBytes) != payload.size()) return false;
  const auto stored = load<std::uint32_t>(payload.data() + bytes);
  payload.resize(bytes);
  if (stored != piece_crc(place.blocks, bytes, payload)) return false;
  place = {place.end + kHeaderBytes + bytes + kCrcBytes, place.blocks + 1};
  return true;
}

bool Journal::next(std::vector<std::byte>& payload) {
  if (ignore_old_) return false;
  const ReadJournal read = [&](std::span<std::byte> out, std::uint64_t offset) {
    return file_.read_at(out, offset);
  };
  return read_journal_block(payload, place_, file_.size(), read);
}

void Journal::append(Bytes payload) {
  if (payload.size() > kMaxBlockBytes) {
    throw Error(ErrorCode::argument, {.file = target_.path()}, "a sample's name is too long");
  }
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> block(kHeaderBytes + payload.size() + kCrcBytes);
  store(block.data(), kBlockMagic);
  store(block.data() + 4, bytes);
  std::copy(payload.begin(), payload.end(), block.begin() + kHeaderBytes);
  store(block.data() + kHeaderBytes + bytes, piece_crc(place_.blocks, bytes, payload));
  // Blocks of an earlier run behind this one could match the expected number by chance.
  if (file_.size() > place_.end &&
      ::ftruncate(file_.descriptor(), static_cast<off_t>(place_.end)) != 0) {
    throw_errno(file_.path(), "set the size", true);
  }
  file_.write_at(block, place_.end);
  place_ = {place_.end + block.size(), place_.blocks + 1};
}

void Journal::sync() {
  if (::fsync(file_.descriptor()) != 0) throw_errno(file_.path(), "fsync", true);
}

void Journal::remove() { ::unlinkat(target_.folder_descriptor(), leaf_.c_str(), 0); }

void remove_left_journal(const std::string& target) try {
  const OutputTarget there(target, true);
  const int folder = there.folder_descriptor();
  const std::string leaf = there.hidden_name("journal"), partial = there.hidden_name("partial");
  const File file(::openat(folder, leaf.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), "");
  struct stat status;
  if (!file.is_open() || ::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) return;
  if (::fstatat(folder, partial.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return;
  ::unlinkat(folder, leaf.c_str(), 0);
} catch (const std::exception&) {
}

}  // namespace tundish
