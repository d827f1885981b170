#include "loader/memory/cache_policy.h"

namespace tundish {

void CachePolicy::use(std::uint64_t sample, std::uint64_t next) {
  Entry& entry = entries_.at(sample);
  auto node = by_next_.extract({entry.next, sample});
  entry.next = next;
  node.value().first = next;
  by_next_.insert(std::move(node));
}

bool CachePolicy::admit(std::uint64_t sample, std::uint64_t bytes, std::uint64_t next,
                        std::uint64_t room, std::vector<std::uint64_t>& out) {
  out.clear();
  for (auto last = by_next_.rbegin(); room < bytes; ++last) {
    if (last == by_next_.rend() || last->first <= next) {  // needed sooner, so it stays
      out.clear();
      return false;
    }
    room += entries_.at(last->second).bytes;
    out.push_back(last->second);
  }
  for (const std::uint64_t gone : out) remove(gone);
  entries_.emplace(sample, Entry{bytes, next});
  by_next_.emplace(next, sample);
  bytes_ += bytes;
  return true;
}

void CachePolicy::shrink_to(std::uint64_t bytes, std::vector<std::uint64_t>& out) {
  out.clear();
  while (bytes_ > bytes) {
    out.push_back(by_next_.rbegin()->second);
    remove(out.back());
  }
}

void CachePolicy::remove(std::uint64_t sample) {
  const auto found = entries_.find(sample);
  if (found == entries_.end()) return;
  by_next_.erase({found->second.next, sample});
  bytes_ -= found->second.bytes;
  entries_.erase(found);
}

void CachePolicy::retime(const std::function<std::uint64_t(std::uint64_t sample)>& next_of) {
  by_next_.clear();
  for (auto& [sample, entry] : entries_) {
    entry.next = next_of(sample);
    by_next_.emplace(entry.next, sample);
  }
}

}  // namespace tundish
