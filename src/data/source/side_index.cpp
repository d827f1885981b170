#include "data/source/side_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/temporary_file.h"
#include "data/source/folder_entries.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::string_view kMagic = "TND sid3";
constexpr std::uint64_t kMaxIndexBytes = 1ull << 30;
// Bound of a valid index: a record takes at least 16 bytes of data, and 24 bytes besides its name.
constexpr std::uint64_t kIndexPerByte = 16, kIndexAtLeast = 1 << 20;
// magic, version, bytes of the format's name, size, two times, bytes of the payload, hash of the
// path, inode
constexpr std::size_t kHead = 8 + 4 + 4 + 8 + 8 + 8 + 8 + 8 + 8;

std::uint64_t most_bytes(const FileStamp& data) {
  return std::min(kMaxIndexBytes,
                  kIndexAtLeast + kIndexPerByte * std::min(data.size, kMaxIndexBytes));
}

struct Place {
  std::string folder, name;
  std::string path() const { return join_path(folder, name); }
};

Place beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  return {slash == path.npos ? "." : path.substr(0, slash + 1), "." + name + ".tndx"};
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(path, error);
  return error ? path : found.string();
}

std::optional<Place> in_cache(const std::string& path) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache && *cache == '/') {
    folder = cache;
  } else if (home && *home == '/') {
    folder = join_path(home, ".cache");
  } else {
    return std::nullopt;
  }
  const std::string whole = absolute(path);
  const XXH128_hash_t hash = XXH3_128bits(whole.data(), whole.size());
  return Place{join_path(folder, "tundish"),
               fmt::format("{:016x}{:016x}.tndx", hash.high64, hash.low64)};
}

std::uint64_t hash_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return XXH3_64bits(name.data(), name.size());
}

std::vector<std::byte> close_side_index(const std::string& path, const FileStamp& stamp,
                                        std::string_view format, std::uint32_t version,
                                        Bytes payload) {
  std::vector<std::byte> out(kHead);
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  store(out.data() + 8, version);
  store(out.data() + 12, static_cast<std::uint32_t>(format.size()));
  store(out.data() + 16, stamp.size);
  store(out.data() + 24, stamp.changed_ns);
  store(out.data() + 32, std::uint64_t{payload.size()});
  store(out.data() + 40, hash_of(path));
  store(out.data() + 48, stamp.status_changed_ns);
  store(out.data() + 56, stamp.inode);
  const Bytes name = std::as_bytes(std::span(format));
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), payload.begin(), payload.end());
  const std::uint32_t crc = crc32c(out);
  out.resize(out.size() + sizeof crc);
  store(out.data() + out.size() - sizeof crc, crc);
  return out;
}

// Returns false if the file cannot be written there.
bool write(const Place& place, Bytes bytes) {
  const int folder = ::open(place.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const File folder_file(folder, place.folder);
  const std::string prefix = place.name + ".tmp.";
  sweep_temporaries(folder, prefix);
  const std::string temporary = fmt::format("{}{}", prefix, ::getpid());
  const int descriptor = make_temporary(folder, temporary.c_str());
  if (descriptor < 0) return false;
  File file(descriptor, temporary);
  try {
    file.write_at(bytes, 0);
    if (::fsync(descriptor) == 0 &&
        ::renameat(folder, temporary.c_str(), folder, place.name.c_str()) == 0) {
      ::fsync(folder);
      return true;
    }
  } catch (const Error&) {  // the disk is full: the file is removed
  }
  ::unlinkat(folder, temporary.c_str(), 0);
  return false;
}

// Returns true if the first bytes of an index file, at least kHead and the format's name, match an
// index with `payload` bytes.
bool head_fits(Bytes file, std::uint64_t payload, const std::string& path, const FileStamp& stamp,
               std::string_view format, std::uint32_t version) {
  const std::byte* const head = file.data();
  return std::memcmp(head, kMagic.data(), kMagic.size()) == 0 &&
         load<std::uint32_t>(head + 8) == version &&
         load<std::uint32_t>(head + 12) == format.size() &&
         load<std::uint64_t>(head + 16) == stamp.size &&
         load<std::int64_t>(head + 24) == stamp.changed_ns &&
         load<std::uint64_t>(head + 32) == payload &&
         load<std::uint64_t>(head + 40) == hash_of(path) &&
         load<std::int64_t>(head + 48) == stamp.status_changed_ns &&
         load<std::uint64_t>(head + 56) == stamp.inode &&
         std::memcmp(head + kHead, format.data(), format.size()) == 0;
}

// Trusts the index of another user only if the data belong to that user too.
bool is_trusted(const File& index, const std::string& path) {
  struct stat own, data;
  if (::fstat(index.descriptor(), &own) != 0 || ::stat(path.c_str(), &data) != 0) return false;
  const bool others_write = (own.st_mode & S_IWOTH) != 0;
  return !others_write && (own.st_uid == ::geteuid() || own.st_uid == data.st_uid);
}

// Reads and compares the head first, so that an unrelated file takes no memory.
bool read_index_file(std::vector<std::byte>& out, const std::string& index_path,
                     const std::string& path, const FileStamp& stamp, std::string_view format,
                     std::uint32_t version) {
  const File file = File::open(index_path);
  const std::uint64_t size = file.size(), around = kHead + format.size() + 4;
  if (size < around || size > most_bytes(stamp) || !is_trusted(file, path)) return false;
  out.resize(kHead + format.size());
  if (file.read_at(out, 0) != out.size()) return false;
  if (!head_fits(out, size - around, path, stamp, format, version)) return false;
  out.resize(static_cast<std::size_t>(size));
  return file.read_at(out, 0) == out.size();
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  constexpr std::chrono::nanoseconds kTick = kFileClockTick;
  const std::chrono::nanoseconds age(ns(now) - ns(status.st_ctim));
  if (age >= age.zero() && age < kTick) std::this_thread::sleep_for(kTick - age);
  return {static_cast<std::uint64_t>(status.st_size), ns(status.st_mtim), ns(status.st_ctim),
          static_cast<std::uint64_t>(status.st_ino)};
}

std::optional<std::vector<std::byte>> open_side_index(Bytes file, const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version) {
  const std::size_t around = kHead + format.size() + 4;
  if (file.size() < around) return std::nullopt;
  const std::uint64_t payload = file.size() - around;
  if (!head_fits(file, payload, path, stamp, format, version)) return std::nullopt;
  const std::size_t end = file.size() - 4;
  if (load<std::uint32_t>(file.data() + end) != crc32c(file.first(end))) return std::nullopt;
  const Bytes inside = file.subspan(kHead + format.size(), payload);
  return std::vector<std::byte>(inside.begin(), inside.end());
}

std::optional<std::vector<std::byte>> load_side_index(const std::string& path,
                                                      const FileStamp& stamp,
                                                      std::string_view format,
                                                      std::uint32_t version) {
  for (const std::optional<Place>& place : {std::optional(beside(path)), in_cache(path)}) {
    if (!place) continue;
    try {
      std::vector<std::byte> file;
      if (!read_index_file(file, place->path(), path, stamp, format, version)) continue;
      if (auto found = open_side_index(file, path, stamp, format, version)) return found;
    } catch (const Error&) {  // no index exists
    }
  }
  return std::nullopt;
}

void save_side_index(const std::string& path, const FileStamp& stamp, std::string_view format,
                     std::uint32_t version, Bytes payload) noexcept {
  try {
    if (payload.size() > most_bytes(stamp) / 2 || stamp_of(path) != stamp) return;
    const std::vector<std::byte> file = close_side_index(path, stamp, format, version, payload);
    if (write(beside(path), file)) return;
    const std::optional<Place> place = in_cache(path);
    if (!place) return;
    std::error_code ignored;
    std::filesystem::create_directories(place->folder, ignored);
    write(*place, file);
  } catch (...) {  // no memory, or the file is gone: the next opening scans
  }
}

}  // namespace tundish
