// Limits the memory for chunks of all arrays of the process, both during and after loading. A few
// stored bytes can unpack to large chunks, in every array and every thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace tundish {

// Keeps chunks so that they need not be loaded again. Any thread.
class ChunkCache {
 public:
  virtual ~ChunkCache() = default;
  // Drops the unread chunk that is needed last. Returns false if no chunk can be dropped.
  virtual bool drop_one() const = 0;
};

// Any thread. Must outlive every charge.
class ChunkMemory {
 public:
  // Bytes charged for one chunk, during and after loading. The destructor frees the bytes.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept { swap(other); }
    Charge& operator=(Charge&& other) noexcept {
      Charge old(std::move(other));
      swap(old);
      return *this;
    }
    ~Charge() {
      if (memory_) memory_->release(*this);
    }
    // Marks the chunk as loaded and reduces its charge to `bytes`, at most the charge before.
    void loaded(std::uint64_t bytes);

   private:
    friend class ChunkMemory;
    Charge(ChunkMemory& memory, std::uint64_t bytes, pid_t process)
        : memory_(&memory), bytes_(bytes), process_(process) {}
    void swap(Charge& other) noexcept {
      std::swap(memory_, other.memory_);
      std::swap(bytes_, other.bytes_);
      std::swap(process_, other.process_);
      std::swap(loading_, other.loading_);
    }

    ChunkMemory* memory_ = nullptr;
    std::uint64_t bytes_ = 0;
    pid_t process_ = 0;
    bool loading_ = true;
  };

  explicit ChunkMemory(std::uint64_t limit) : limit_(limit) {}

  // Returns the instance of the process.
  static ChunkMemory& shared();

  // Waits until `bytes` are free, and drops unread chunks to free them. A single chunk can always
  // be loaded, however large it is. The thread must hold no other charge.
  Charge take(std::uint64_t bytes);

  void add(const ChunkCache& cache);
  void remove(const ChunkCache& cache);

  std::uint64_t used() const;

 private:
  bool try_take(std::uint64_t bytes);
  bool drop_one();
  void release(const Charge& charge);

  const std::uint64_t limit_;
  mutable std::mutex mutex_;  // guards the members below; never held while a cache is called
  std::condition_variable freed_;
  std::uint64_t loading_ = 0, kept_ = 0;  // bytes charged by this process
  pid_t process_ = 0;
  std::mutex caches_mutex_;  // locked before the mutexes of caches
  std::set<const ChunkCache*> caches_;
  const ChunkCache* last_ = nullptr;  // cache that last dropped a chunk: caches take turns
};

}  // namespace tundish
