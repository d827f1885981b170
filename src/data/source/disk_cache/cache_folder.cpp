#include "data/source/disk_cache/cache_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/interruption.h"
#include "data/source/folder_entries.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::string_view kPart = ".part";
constexpr std::string_view kComplete = ".records";
constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

// Only the owner may write files that all processes of the owner trust.
File open_or_make(const std::string& path) {
  const int descriptor = ::open(path.c_str(), kFlags, 0600);
  if (descriptor < 0) throw_errno(path, "open", true);
  return File(descriptor, path);
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return;
  throw_errno(path, "make the folder", true);
}

// Refuses a folder where another user could have put samples. Links to the root are followed.
void check_owner(const std::string& path, const std::string& root) {
  struct stat folder, above;
  if (::stat(root.c_str(), &above) != 0) throw_errno(root, "look at the folder", true);
  if ((path == root ? ::stat : ::lstat)(path.c_str(), &folder) != 0) {
    throw_errno(path, "look at the folder", true);
  }
  const uid_t owner = path == root ? folder.st_uid : above.st_uid;
  const std::string risk = cache_folder_risk(folder, ::geteuid(), owner);
  if (risk.empty()) return;
  throw Error(
      ErrorCode::argument, {.file = path},
      fmt::format("cache_dir: {}, so another user could replace samples. Give cache_dir a "
                  "folder that does not exist yet, such as {}/{}, or {}",
                  risk, root, ::geteuid(),
                  path == root ? "take the permission away: chmod o-w" : "remove this one"));
}

// On a file system without locks, every process proceeds: counts are slightly wrong then, but data
// are correct.
bool try_lock(const File& file, int how) {
  int result;
  do {
    result = ::flock(file.descriptor(), how | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno != EWOULDBLOCK;
}

class Locked {
 public:
  explicit Locked(const File& file) : file_(file), held_(try_lock(file, LOCK_EX)) {}
  ~Locked() {
    if (held_) ::flock(file_.descriptor(), LOCK_UN);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return held_; }

 private:
  const File& file_;
  const bool held_;
};

bool is_id(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_cache_file(const std::string& name) {
  return name.ends_with(kPart) || name.ends_with(kComplete);
}

struct Found {
  std::string path;
  std::uint64_t bytes = 0;
};

std::vector<Found> files_of(const std::string& folder) {
  std::vector<Found> out;
  visit_folder(folder, [&](const FolderEntry& entry) {
    if (entry.is_file && is_cache_file(entry.name)) {
      out.push_back({join_path(folder, entry.name), entry.bytes});
    }
    return true;
  });
  return out;
}

std::vector<std::string> data_sets_of(const std::string& root) {
  std::vector<std::string> out;
  visit_folder(root, [&](const FolderEntry& entry) {
    if (entry.is_folder && is_id(entry.name)) out.push_back(join_path(root, entry.name));
    return true;
  });
  return out;
}

void sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

// Allocates the blocks now, so that a full disk is detected before records are written.
void allocate(File& file, std::uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  if (::fallocate(file.descriptor(), 0, 0, size) == 0) return;
  if (errno != EOPNOTSUPP && errno != EINVAL) throw_errno(file.path(), "allocate", true);
  if (::ftruncate(file.descriptor(), size) != 0) throw_errno(file.path(), "extend", true);
}

}  // namespace

std::string cache_folder_risk(const struct stat& folder, uid_t user, uid_t owner) {
  if (!S_ISDIR(folder.st_mode)) return "it is not a folder";
  if ((folder.st_mode & S_IWOTH) != 0 && (folder.st_mode & S_ISVTX) == 0) {
    return fmt::format("every user may write to it (mode {:04o})", folder.st_mode & 07777);
  }
  if (folder.st_uid == user || folder.st_uid == owner) return "";
  return fmt::format("it belongs to user {}", folder.st_uid);
}

std::uint64_t cache_folder_bytes(const std::string& root) {
  std::uint64_t sum = 0;
  for (const std::string& folder : data_sets_of(root)) {
    for (const Found& file : files_of(folder)) sum += file.bytes;
  }
  return sum;
}

CacheFolder::CacheFolder(const std::string& root, const CacheId& id, std::uint64_t limit)
    : id_(id), limit_(limit) {
  std::error_code failed;
  root_ = std::filesystem::absolute(root, failed).string();
  if (failed) root_ = root;
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  own_ = join_path(root_, id.hex());
  const std::string parent = std::filesystem::path(root_).parent_path().string();
  std::filesystem::create_directories(parent, failed);  // make_folder() reports the fault
  make_folder(root_);
  check_owner(root_, root_);
  lock_ = open_or_make(join_path(root_, "lock"));
  for (;;) {
    if (const Locked locked(lock_); locked) {
      make_folder(own_);
      check_owner(own_, root_);
      used_ = open_or_make(join_path(own_, "used"));
      try_lock(used_, LOCK_SH);
      ::futimens(used_.descriptor(), nullptr);
      complete_left_files();
      shrink_own();
      return;
    }
    check_stop(root_);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::vector<std::string> CacheFolder::complete_files() const {
  std::vector<std::string> out;
  for (Found& file : files_of(own_)) {
    if (file.path.ends_with(kComplete)) out.push_back(std::move(file.path));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<File> CacheFolder::add_file(std::uint64_t wanted, std::uint64_t least) {
  const Locked locked(lock_);
  if (!locked) return std::nullopt;
  const std::uint64_t bytes = std::min(wanted, make_room(wanted));
  if (bytes < least) return std::nullopt;
  const std::string path = join_path(
      own_, fmt::format("{}-{}-{:x}{}", ::getpid(), made_++,
                        std::chrono::system_clock::now().time_since_epoch().count(), kPart));
  const int descriptor = ::open(path.c_str(), kFlags | O_EXCL, 0600);
  if (descriptor < 0) throw_errno(path, "make", true);
  File file(descriptor, path);
  try_lock(file, LOCK_EX);
  try {
    allocate(file, bytes);
    file.write_at(cache_head(id_), 0);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  return file;
}

std::string CacheFolder::complete(File& file, std::uint64_t end,
                                  const std::vector<RecordPlace>& places) const {
  const std::vector<std::byte> index = make_index(places, id_);
  file.write_at(index, end);
  if (::ftruncate(file.descriptor(), static_cast<off_t>(end + index.size())) != 0) {
    throw_errno(file.path(), "shorten", true);
  }
  if (::fsync(file.descriptor()) != 0) throw_errno(file.path(), "sync", true);
  const std::string& path = file.path();
  std::string complete = path.substr(0, path.size() - kPart.size()) + std::string(kComplete);
  if (::rename(path.c_str(), complete.c_str()) != 0) throw_errno(path, "rename", true);
  sync_folder(own_);
  return complete;
}

void CacheFolder::remove(const std::string& path) const { ::unlink(path.c_str()); }

// Returns the bytes that may be added; removes unused datasets until `wanted` bytes are available.
std::uint64_t CacheFolder::make_room(std::uint64_t wanted) {
  for (;;) {
    const std::uint64_t used = cache_folder_bytes(root_);
    const std::uint64_t room = used < limit_ ? limit_ - used : 0;
    if (room >= wanted || !evict_another()) return room;
  }
}

bool CacheFolder::evict_another() {
  std::vector<std::string> others = data_sets_of(root_);
  std::erase(others, own_);
  std::sort(others.begin(), others.end(), [](const std::string& a, const std::string& b) {
    return changed_at(join_path(a, "used")) < changed_at(join_path(b, "used"));
  });
  for (const std::string& folder : others) {
    const std::vector<Found> files = files_of(folder);
    const std::string path = join_path(folder, "used");
    const File used(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW), path);
    if (used.is_open() && !try_lock(used, LOCK_EX)) continue;
    for (const Found& file : files) ::unlink(file.path.c_str());
    ::unlink(path.c_str());
    ::rmdir(folder.c_str());
    if (!files.empty() && files_of(folder).empty()) return true;
  }
  return false;
}

// The limit may be lower than in an earlier run.
void CacheFolder::shrink_own() {
  while (cache_folder_bytes(root_) > limit_) {
    if (evict_another()) continue;
    const std::vector<std::string> files = complete_files();
    if (files.empty() || ::unlink(files.front().c_str()) != 0) return;
  }
}

void CacheFolder::complete_left_files() {
  for (const Found& file : files_of(own_)) {
    if (!file.path.ends_with(kPart)) continue;
    try {
      complete_left_file(file.path);
    } catch (const Error&) {
      ::unlink(file.path.c_str());  // holds only copies
    }
  }
}

// Completes the file with its records up to the first missing or incomplete one.
void CacheFolder::complete_left_file(const std::string& path) {
  File file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), path);
  if (!file.is_open() || !try_lock(file, LOCK_EX)) return;
  const std::uint64_t size = file.size();
  std::vector<std::byte> head(kCacheHead);
  std::vector<RecordPlace> places;
  std::uint64_t end = kCacheHead;
  const bool known =
      size <= kMaxCacheFile && file.read_at(head, 0) == head.size() && is_cache_head(head, id_);
  head.resize(kRecordHead);
  std::vector<std::byte> record;
  while (known && file.read_at(head, end) == head.size()) {
    std::optional<RecordPlace> place = read_record_head(head);
    const std::uint64_t index = (places.size() + 1) * kIndexEntry + kIndexFoot;
    if (!place || place->bytes > size - end || size - end - place->bytes < index) break;
    record.resize(place->bytes);
    if (file.read_at(record, end) != record.size() || !is_intact(record, id_)) break;
    place->offset = end;
    end += place->bytes;
    places.push_back(*place);
  }
  if (places.empty()) {
    ::unlink(path.c_str());
  } else {
    complete(file, end, places);
  }
}

}  // namespace tundish
