// What SECURITY.md promises about memory, checked on every input: a target declares how many bytes
// its call may take at most, and the meter counts what is allocated, at the moment of the most.
#pragma once

#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace tundish {

class MemoryMeter {
 public:
  // The most that may be held at once from now on, beside what is held already.
  explicit MemoryMeter(std::size_t allowed) : allowed_(allowed) {
    static const bool installed = __sanitizer_install_malloc_and_free_hooks(took, gave) > 0;
    if (!installed) std::abort();
    held_ = peak_ = 0;
  }

  ~MemoryMeter() {
    if (peak_.load() <= static_cast<std::ptrdiff_t>(allowed_)) return;
    std::fprintf(stderr, "%td bytes were taken at once, %zu are promised\n", peak_.load(),
                 allowed_);
    std::abort();
  }

  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

 private:
  static void took(const volatile void*, std::size_t bytes) {
    const std::ptrdiff_t now = held_ += static_cast<std::ptrdiff_t>(bytes);
    if (now > peak_.load()) peak_ = now;  // one thread: no one else raises it
  }
  static void gave(const volatile void* memory) {
    if (memory == nullptr) return;
    held_ -= static_cast<std::ptrdiff_t>(
        __sanitizer_get_allocated_size(const_cast<const void*>(memory)));
  }

  static inline std::atomic<std::ptrdiff_t> held_{0}, peak_{0};
  const std::size_t allowed_;
};

// Restoring a JPEG of this size from `input` bytes under a limit on the file's bytes. As
// SECURITY.md has it, but for its constant, which covers images of 65,535 pixels and contexts of
// libraries.
inline std::size_t restore_promise(int width, int height, std::size_t input,
                                   std::size_t max_bytes) {
  constexpr std::size_t kEdges = 3 * 3 * 128;  // of three components, bytes per block of a side
  constexpr std::size_t kContexts = 1 << 20;   // of zstd and the decoder, made once
  const auto w = static_cast<std::size_t>(width) + 7, h = static_cast<std::size_t>(height) + 7;
  return 6 * w * h + kEdges * (w + h) / 8 + 3 * max_bytes + 3 * input + kContexts;
}

}  // namespace tundish
