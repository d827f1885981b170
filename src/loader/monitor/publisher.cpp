#include "loader/monitor/publisher.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

namespace tundish {
namespace {

using namespace loader_page;
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "processes share it");

std::atomic_ref<std::uint64_t> word(std::byte* page, std::size_t offset) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(page + offset));
}

// Creates non-executable memory: some systems refuse any other. Kernels before 6.3 do not support
// the flag.
int take_memory() {
  constexpr unsigned kUsual = MFD_CLOEXEC | MFD_ALLOW_SEALING, kNotExecutable = 8;
  const int descriptor = ::memfd_create(kLoaderPageName, kUsual | kNotExecutable);
  return descriptor < 0 && errno == EINVAL ? ::memfd_create(kLoaderPageName, kUsual) : descriptor;
}

// Calls visit(name, kind, bits) for every figure, always in the same order.
template <class Visit>
void for_each_figure(const LoaderStats& stats, const LoaderProgress& progress, Visit visit) {
  const auto one = [&](const FieldInfo& info, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) {
      visit(info.name, 'd', std::bit_cast<std::uint64_t>(value));
    } else {
      visit(info.name, 'u', value);
    }
  };
  LoaderStats::fields(stats, one);
  LoaderProgress::fields(progress, one);
}

}  // namespace

Publisher::Publisher(const std::string& source) noexcept : process_(::getpid()) {
  descriptor_ = take_memory();
  if (descriptor_ < 0) return;
  void* memory = MAP_FAILED;
  if (::ftruncate(descriptor_, kLoaderPageBytes) == 0) {
    memory = ::mmap(nullptr, kLoaderPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  }
  if (memory == MAP_FAILED) {
    ::close(descriptor_);
    descriptor_ = -1;
    return;
  }
  // Keeps other processes from shrinking the memory, which would make the next write fail.
  ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  page_ = static_cast<std::byte*>(memory);
  write_head(source);
}

Publisher::~Publisher() {
  if (page_) ::munmap(page_, kLoaderPageBytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Publisher::write_head(const std::string& source) noexcept {
  const std::size_t bytes = std::min(source.size(), kMaxSource);
  std::memcpy(page_ + kSource, source.data(), bytes);
  store(page_ + kSourceBytes, static_cast<std::uint32_t>(bytes));
  std::uint32_t count = 0;
  for_each_figure({}, {}, [&](const char* name, char kind, std::uint64_t) {
    if (count == kMaxFigures) return;
    std::byte* at = page_ + kFigures + count++ * kFigureBytes;
    std::memcpy(at, name, std::min(std::strlen(name), kNameBytes));
    at[kNameBytes] = static_cast<std::byte>(kind);
  });
  store(page_ + kVersion, std::uint32_t{1});
  store(page_ + kCount, count);
  store(page_ + kProcess, static_cast<std::uint64_t>(process_));
  std::uint64_t magic = 0;
  std::memcpy(&magic, kLoaderPageMagic.data(), sizeof magic);
  word(page_, 0).store(magic, std::memory_order_release);  // last: the page is valid from now on
}

void Publisher::write(const LoaderStats& stats, const LoaderProgress& progress) noexcept {
  if (!page_ || ::getpid() != process_) return;
  const std::atomic_ref<std::uint64_t> sequence = word(page_, kSequence);
  const std::uint64_t before = sequence.load(std::memory_order_relaxed);
  sequence.store(before + 1, std::memory_order_relaxed);
  std::size_t at = kFigures + kNameBytes + 1;
  // Release order: a reader that sees a new figure also sees the odd number.
  for_each_figure(stats, progress, [&](const char*, char, std::uint64_t bits) {
    if (at >= kFigures + kMaxFigures * kFigureBytes) return;
    word(page_, at).store(bits, std::memory_order_release);
    at += kFigureBytes;
  });
  sequence.store(before + 2, std::memory_order_release);
}

}  // namespace tundish
