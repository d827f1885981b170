// Limits the working memory of all threads together: large images are re-coded one at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tundish {

// Thread-safe.
class WorkMemory {
 public:
  explicit WorkMemory(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // Reserves room until the end of the scope.
  class Room {
   public:
    Room(WorkMemory& memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes) {
      memory_.take(bytes_);
    }
    ~Room() { memory_.give_back(bytes_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

   private:
    WorkMemory& memory_;
    const std::uint64_t bytes_;
  };

 private:
  // Waits until there is room. A single user always has room: no image is too large.
  void take(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return taken_ == 0 || taken_ + bytes <= budget_; });
    taken_ += bytes;
  }

  void give_back(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    room_.notify_all();
  }

  const std::uint64_t budget_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable room_;
  std::uint64_t taken_ = 0;
};

// Two sets of coefficients, the file and its record; measured on 24-megapixel 4:4:4 JPEGs.
constexpr std::uint64_t kWorkBytesPerPixel = 16;
constexpr std::uint64_t kWorkBytes = 352ull << 20;
// Up to this size, a thread keeps the memory of an image for the next image.
constexpr std::uint64_t kLargePixels = 4'000'000;

}  // namespace tundish
