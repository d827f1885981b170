// What a cache holds: of all samples it could hold, those that come again soonest. With a known
// future no other rule has more hits (Belady 1966), for samples of one size.
//
// Times and bytes are plain numbers here; one thread at a time.
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

  // A sample that is held was used; it comes again at `next`.
  void use(std::uint64_t sample, std::uint64_t next);

  // A sample that is not held was used, and so many bytes are free: whether it is held from now on.
  // `out` then has those that had to go, each of which comes later than it.
  bool admit(std::uint64_t sample, std::uint64_t bytes, std::uint64_t next, std::uint64_t room,
             std::vector<std::uint64_t>& out);

  // Evicts the samples that come latest, until at most so many bytes are held.
  void shrink_to(std::uint64_t bytes, std::vector<std::uint64_t>& out);

  void remove(std::uint64_t sample);

  // The run goes on at another position: `next_of` gives the new next use of every sample.
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
