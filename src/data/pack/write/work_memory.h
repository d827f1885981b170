// How much memory all threads together work with: large images are re-coded one after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tundish {

// Thread safety: any number of threads.
class WorkMemory {
 public:
  explicit WorkMemory(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // Room that is given back at the end of the scope.
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
  // Waits until there is room. Whoever is alone has room: no image is too large.
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
  std::mutex mutex_;  // guards what follows
  std::condition_variable room_;
  std::uint64_t taken_ = 0;
};

// Two sets of coefficients, the file and its record: measured on 4:4:4 JPEGs of 24 megapixels.
constexpr std::uint64_t kWorkBytesPerPixel = 16;
constexpr std::uint64_t kWorkBytes = 352ull << 20;
// A thread keeps the memory of smaller images for the next one.
constexpr std::uint64_t kLargePixels = 4'000'000;

}  // namespace tundish
