#include "data/source/formats/records/tfrecord_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/crc32c.h"
#include "data/source/format.h"

namespace tundish {
namespace {

std::uint32_t masked(Bytes bytes) { return mask_crc(crc32c(bytes)); }

Fault wrong_crc(const char* what, std::uint32_t stored, std::uint32_t computed,
                std::uint64_t offset) {
  return damaged_source("TFRecord",
                        fmt::format("the checksum of {} is wrong: stored {:08x}, computed {:08x}",
                                    what, stored, computed),
                        offset);
}

}  // namespace

bool starts_tfrecord(Bytes first) {
  return first.size() >= kTfRecordHead &&
         load<std::uint32_t>(first.data() + 8) == masked(first.first(8));
}

std::optional<Fault> check_tfrecord(Bytes stored) {
  const Bytes data = stored.first(stored.size() - kTfRecordTail);
  const auto expected = load<std::uint32_t>(stored.data() + data.size());
  const std::uint32_t computed = masked(data);
  if (expected == computed) return std::nullopt;
  return wrong_crc("a record's data", expected, computed, 0);
}

bool TfRecordReader::cut_off(std::uint64_t got) {
  fault_ = damaged_source("TFRecord",
                          fmt::format("the last record is cut off: {} bytes of {}",
                                      with_commas(got), with_commas(length_ + kTfRecordTail)),
                          offset_);
  return false;
}

bool TfRecordReader::next() {
  if (fault_) return false;
  std::array<std::byte, kTfRecordHead> head;
  const std::uint64_t at = in_.offset();
  const std::size_t got = in_.read(head);
  if (got == 0) return false;
  if (got < head.size()) {
    fault_ = damaged_source(
        "TFRecord",
        fmt::format("the head of the last record is cut off: {} bytes of {}", got, head.size()),
        at);
    return false;
  }
  length_ = load<std::uint64_t>(head.data());
  offset_ = at + head.size();
  if (!starts_tfrecord(head)) {
    fault_ = wrong_crc("a record's length", load<std::uint32_t>(head.data() + 8),
                       masked(Bytes(head).first(8)), at);
    return false;
  }
  const std::optional<std::uint64_t> left = in_.left();
  if (length_ > ~std::uint64_t{0} - kTfRecordTail) length_ -= kTfRecordTail;  // no file is so long
  if (left && length_ + kTfRecordTail > *left) return cut_off(*left);
  return true;
}

bool TfRecordReader::read(std::vector<std::byte>& stored) {
  const std::uint64_t wanted = length_ + kTfRecordTail;
  stored.clear();
  // Without a known end, memory grows with the bytes read, not with the claimed length.
  std::uint64_t step = in_.left() ? wanted : std::uint64_t{1} << 20;
  while (stored.size() < wanted) {
    const std::size_t before = stored.size();
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(step, wanted - before));
    stored.resize(before + now);
    const std::size_t got = in_.read(std::span(stored).subspan(before));
    if (got < now) return cut_off(before + got);
    step *= 2;
  }
  return true;
}

bool TfRecordReader::skip() {
  const std::uint64_t wanted = length_ + kTfRecordTail;
  const std::uint64_t got = in_.skip(wanted);
  return got == wanted || cut_off(got);
}

}  // namespace tundish
