// Memory for pixels: aligned to a cache line, grown when asked, otherwise kept.
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

// Where the memory comes from. Page-locked memory reaches this layer as such a pair of functions.
struct HostAllocator {
  void* (*take)(std::size_t bytes);  // nullptr when there is none
  void (*give)(void* memory);
};

inline constexpr std::size_t kHostAlignment = 64;

inline constexpr HostAllocator kPlainMemory = {
    [](std::size_t bytes) -> void* { return std::aligned_alloc(kHostAlignment, bytes); },
    [](void* memory) { std::free(memory); }};

// Memory of the caller, in pieces, that batches may be made in. Any thread.
class LentMemory {
 public:
  void add(std::span<std::byte> piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(piece);
  }

  // A piece of at least this many bytes; empty: none is so large.
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

  // At least this many bytes; what was in it is lost when it has to grow. Throws Error(no_memory).
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

  // A lent piece in place of its own memory, until it is released; false when none is large enough.
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

  // Lets go of a borrowed piece without giving it back: its owner takes it over as it is.
  void part_with() {
    data_ = nullptr;
    bytes_ = 0;
    lender_ = nullptr;
  }

  // To where it came from.
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
  std::shared_ptr<LentMemory> lender_;  // second owner: the engine, which adds pieces
};

}  // namespace tundish
