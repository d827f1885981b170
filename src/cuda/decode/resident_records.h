// The heads of the lanes records whose units are kept on a GPU: all that planning a batch needs.
// Plain C++. The units themselves: resident_pack.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tundish::cuda {

class ResidentRecords {
 public:
  static constexpr std::uint64_t kAlign = 64;  // of a record on the GPU

  explicit ResidentRecords(std::uint64_t samples) : entries_(samples) {}

  // The record of a sample; its place on the GPU is after those that were added before. Call in
  // any order, each sample at most once.
  std::uint64_t add(std::uint64_t sample, Bytes record, std::size_t head_bytes) {
    Entry& entry = entries_[sample];
    entry = {heads_.size(), end_, record.size()};
    heads_.insert(heads_.end(), record.begin(),
                  record.begin() + static_cast<std::ptrdiff_t>(head_bytes));
    end_ += (record.size() + kAlign - 1) / kAlign * kAlign;
    return entry.at;
  }

  bool holds(std::uint64_t sample) const { return entries_[sample].bytes > 0; }

  // As long as the record, but only its head may be read. Valid once all records were added.
  Bytes record(std::uint64_t sample) const {
    const Entry& entry = entries_[sample];
    return {heads_.data() + entry.head, entry.bytes};
  }

  std::uint64_t at(std::uint64_t sample) const { return entries_[sample].at; }  // on the GPU
  std::uint64_t bytes() const { return end_; }  // of all records on the GPU

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
