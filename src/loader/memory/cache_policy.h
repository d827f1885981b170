// Chooses the contents of a cache: the samples whose next use is soonest. For a known future and
// samples of one size, no other rule has more hits (Belady 1966).
//
// Times and bytes are plain numbers. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tundish {

class CachePolicy {
 public:
  bool holds(std::uint64_t sample) const { return entries_.contains(sample); }
  std::uint64_t bytes() const { return bytes_; }

  // Records a use of a held sample; its next use is at `next`.
  void use(std::uint64_t sample, std::uint64_t next);

  // Records a use of a sample that is not held, with `room` free bytes. Returns whether it is held
  // from now on. `out` receives the evicted samples, whose next uses are all later.
  bool admit(std::uint64_t sample, std::uint64_t bytes, std::uint64_t next, std::uint64_t room,
             std::vector<std::uint64_t>& out);

  // Evicts the samples with the latest next use until at most `bytes` are held.
  void shrink_to(std::uint64_t bytes, std::vector<std::uint64_t>& out);

  void remove(std::uint64_t sample);

  // Continues the run at another position: `next_of` returns the new next use of every sample.
  void retime(const std::function<std::uint64_t(std::uint64_t sample)>& next_of);

 private:
  struct Entry {
    std::uint64_t bytes, next;
  };

  std::uint64_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_next_;  // next, sample
};

}  // namespace tundish
