#include "base/machine/storage/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace tundish {
namespace {

constexpr std::size_t kMaxAsked = 256;
constexpr long kCachestat = 451;  // the same number on every architecture

struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, under_write, evicted, recently_evicted;  // pages
};

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

std::optional<std::uint64_t> ask_cachestat(int descriptor, std::uint64_t bytes) {
  CachestatRange range{.offset = 0, .length = bytes};
  Cachestat answer{};
  if (::syscall(kCachestat, descriptor, &range, &answer, 0) != 0) return std::nullopt;
  return answer.cached * page_bytes();
}

// Queries windows of 1 GiB, which bounds the memory for the answer.
std::optional<std::uint64_t> ask_mincore(int descriptor, std::uint64_t bytes) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 30;
  const std::uint64_t page = page_bytes();
  std::vector<unsigned char> pages;
  std::uint64_t cached = 0;
  for (std::uint64_t at = 0; at < bytes; at += kWindow) {
    const std::size_t length = std::min(kWindow, bytes - at);
    void* memory =
        ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(at));
    if (memory == MAP_FAILED) return std::nullopt;
    pages.assign((length + page - 1) / page, 0);
    const bool known = ::mincore(memory, length, pages.data()) == 0;
    ::munmap(memory, length);
    if (!known) return std::nullopt;
    cached += page * static_cast<std::uint64_t>(std::count_if(
                         pages.begin(), pages.end(), [](unsigned char one) { return one & 1; }));
  }
  return cached;
}

}  // namespace

CachedPart find_cached_part(const DataFiles& data, CacheQuestion how) {
  CachedPart out;
  const std::size_t asked = std::min(data.files.size(), kMaxAsked);
  for (std::size_t i = 0; i < asked; ++i) {
    const DataFile& file = data.files[i * data.files.size() / asked];
    const int descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) continue;
    std::optional<std::uint64_t> cached;
    if (how == CacheQuestion::any) cached = ask_cachestat(descriptor, file.bytes);
    if (!cached) cached = ask_mincore(descriptor, file.bytes);
    ::close(descriptor);
    if (!cached) continue;
    out.cached += std::min(*cached, file.bytes);  // the last page counts in full
    out.seen += file.bytes;
  }
  return out;
}

}  // namespace tundish
