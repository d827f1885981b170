// Evicts the least recently used sample.
#include <list>
#include <unordered_map>

#include "contestant.h"

namespace tundish {
namespace {

class Lru : public Contestant {
 public:
  explicit Lru(std::uint64_t capacity) : capacity_(capacity) {}

  bool hit(const Visit& visit) override {
    const auto found = at_.find(visit.sample);
    if (found != at_.end()) {
      newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
      return true;
    }
    if (visit.bytes > capacity_) return false;
    bytes_ += visit.bytes;
    while (bytes_ > capacity_) {
      bytes_ -= newest_first_.back().bytes;
      at_.erase(newest_first_.back().sample);
      newest_first_.pop_back();
    }
    newest_first_.push_front(visit);
    at_[visit.sample] = newest_first_.begin();
    return false;
  }

 private:
  const std::uint64_t capacity_;
  std::uint64_t bytes_ = 0;
  std::list<Visit> newest_first_;
  std::unordered_map<std::uint64_t, std::list<Visit>::iterator> at_;
};

}  // namespace

std::unique_ptr<Contestant> lru(std::uint64_t capacity) { return std::make_unique<Lru>(capacity); }

}  // namespace tundish
