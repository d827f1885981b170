// The heads of the lanes records whose units are resident on a GPU: all that a batch plan needs.
// Plain C++. The units are in resident_pack.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tundish::cuda {

class ResidentRecords {
 public:
  static constexpr std::uint64_t kAlign = 64;  // alignment of a record on the GPU

  explicit ResidentRecords(std::uint64_t samples) : entries_(samples) {}

  // Adds the record of a sample, placed after all earlier records on the GPU. Call in
  // any order, at most once per sample.
  std::uint64_t add(std::uint64_t sample, Bytes record, std::size_t head_bytes) {
    Entry& entry = entries_[sample];
    entry = {heads_.size(), end_, record.size()};
    heads_.insert(heads_.end(), record.begin(),
                  record.begin() + static_cast<std::ptrdiff_t>(head_bytes));
    end_ += (record.size() + kAlign - 1) / kAlign * kAlign;
    return entry.at;
  }

  bool holds(std::uint64_t sample) const { return entries_[sample].bytes > 0; }

  // Returns a span as long as the record, but only the head is readable. Valid once all are added.
  Bytes record(std::uint64_t sample) const {
    const Entry& entry = entries_[sample];
    return {heads_.data() + entry.head, entry.bytes};
  }

  std::uint64_t at(std::uint64_t sample) const { return entries_[sample].at; }  // on the GPU
  std::uint64_t bytes() const { return end_; }  // total size of all records on the GPU

 private:
  struct Entry {
    std::size_t head = 0;
    std::uint64_t at = 0;
    std::size_t bytes = 0;
  };
  std::vector<Entry> entries_;
  std::vector<std::byte> heads_;
  std::uint64_t end_ = 0;
};

}  // namespace tundish::cuda
