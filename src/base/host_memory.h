// Memory for pixels: aligned to a cache line, grown on demand, kept until released.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tundish {

// Functions that allocate and free memory, for example page-locked memory.
struct HostAllocator {
  void* (*take)(std::size_t bytes);  // nullptr on failure
  void (*give)(void* memory);
};

inline constexpr std::size_t kHostAlignment = 64;

inline constexpr HostAllocator kPlainMemory = {
    [](std::size_t bytes) -> void* { return std::aligned_alloc(kHostAlignment, bytes); },
    [](void* memory) { std::free(memory); }};

// Caller-owned pieces of memory in which batches may be built. Thread-safe.
class LentMemory {
 public:
  void add(std::span<std::byte> piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(piece);
  }

  // Takes a piece of at least this many bytes; empty if no piece is large enough.
  std::span<std::byte> take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(pieces_.begin(), pieces_.end(),
                                   [&](const auto& piece) { return piece.size() >= bytes; });
    if (fits == pieces_.end()) return {};
    const std::span<std::byte> piece = *fits;
    pieces_.erase(fits);
    return piece;
  }

 private:
  std::mutex mutex_;
  std::vector<std::span<std::byte>> pieces_;
};

class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() { release(); }

  // Ensures at least this many bytes. Growing discards the contents. Throws Error(no_memory).
  void reserve(std::size_t bytes, const HostAllocator& allocator = kPlainMemory) {
    if (bytes <= bytes_) return;
    release();
    const std::size_t rounded = (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
    data_ = static_cast<std::byte*>(allocator.take(rounded));
    if (!data_) {
      throw Error(ErrorCode::no_memory, {}, with_commas(rounded) + " bytes for a batch");
    }
    bytes_ = rounded;
    give_ = allocator.give;
  }

  // Uses a lent piece instead of own memory until release(). Returns false if none is large enough.
  bool borrow(std::size_t bytes, const std::shared_ptr<LentMemory>& lender) {
    const std::span<std::byte> piece = lender->take(bytes);
    if (piece.empty()) return false;
    release();
    data_ = piece.data();
    bytes_ = piece.size();
    lender_ = lender;
    return true;
  }
  bool is_borrowed() const { return lender_ != nullptr; }

  // Drops a borrowed piece without returning it to the lender; its owner keeps the contents.
  void part_with() {
    data_ = nullptr;
    bytes_ = 0;
    lender_ = nullptr;
  }

  // Returns the memory to the lender or the allocator.
  void release() {
    if (lender_) {
      lender_->add({data_, bytes_});
    } else if (data_) {
      give_(data_);
    }
    part_with();
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void (*give_)(void*) = nullptr;
  std::shared_ptr<LentMemory> lender_;  // shared with the engine, which adds pieces
};

}  // namespace tundish
