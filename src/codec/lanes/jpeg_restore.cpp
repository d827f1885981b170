#include "codec/lanes/jpeg_restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tundish::lanes {
namespace {

constexpr int kPaddingFlag = 1 << kMaxComponents;
constexpr int kRunsFlag = 2 << kMaxComponents;
constexpr int kTailsFlag = 4 << kMaxComponents;
constexpr int kAllFlags = (8 << kMaxComponents) - 1;
constexpr std::size_t kMinEdgeBytes = 2;

void put_u8(std::vector<std::byte>& out, std::uint8_t value) { out.push_back(std::byte{value}); }

void put_varint(std::vector<std::byte>& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) put_u8(out, static_cast<std::uint8_t>(value | 0x80));
  put_u8(out, static_cast<std::uint8_t>(value));
}

void put_signed(std::vector<std::byte>& out, int value) {
  put_varint(out, static_cast<std::uint32_t>(value) << 1 ^ static_cast<std::uint32_t>(value >> 31));
}

// Writes the coded bytes unchanged.
void put_coded(std::vector<std::byte>& out, const Coded& coded) {
  if (coded.count == 0) return;
  put_varint(out, coded.count);
  out.insert(out.end(), coded.bytes.begin(), coded.bytes.end());
}

void put_padding(std::vector<std::byte>& out, const Padding& padding) {
  put_u8(out, padding.usual);
  put_coded(out, padding.coded);
  if (padding.coded.count > 0) return;
  put_varint(out, static_cast<std::uint32_t>(padding.odd.size()));
  std::uint64_t next = 0;
  for (const OddPadding& odd : padding.odd) {
    put_varint(out, static_cast<std::uint32_t>(odd.interval - next));
    put_u8(out, odd.bits);
    next = odd.interval + 1;
  }
}

void put_runs(std::vector<std::byte>& out, const std::vector<OddRuns>& all) {
  put_varint(out, static_cast<std::uint32_t>(all.size()));
  std::uint32_t scan = 0;
  for (const OddRuns& runs : all) {
    put_varint(out, runs.scan - scan);
    scan = runs.scan + 1;
    put_coded(out, runs.coded);
    if (runs.coded.count > 0) continue;
    put_varint(out, static_cast<std::uint32_t>(runs.ends.size()));
    std::uint32_t block = 0;
    for (const std::uint32_t end : runs.ends) {
      put_varint(out, end - block);
      block = end + 1;
    }
  }
}

void put_tails(std::vector<std::byte>& out, const std::vector<Tail>& tails) {
  put_varint(out, static_cast<std::uint32_t>(tails.size()));
  std::uint32_t scan = 0;
  for (const Tail& tail : tails) {
    put_varint(out, tail.scan - scan);
    scan = tail.scan + 1;
    put_varint(out, static_cast<std::uint32_t>(tail.bytes.size()));
    out.insert(out.end(), tail.bytes.begin(), tail.bytes.end());
  }
}

void put_edge(std::vector<std::byte>& out, const Block& block) {
  put_signed(out, block[0]);
  const auto values = 64 - std::count(block.begin(), block.end(), 0) - (block[0] != 0 ? 1 : 0);
  put_u8(out, static_cast<std::uint8_t>(values));
  for (std::uint8_t place = 1; place < 64; ++place) {
    const int value = block[kZigzag[place]];
    if (value == 0) continue;
    put_u8(out, place);
    put_signed(out, value);
  }
}

// The reason for a failure, with figures; empty on success.
using Reason = std::string;

// Skips a list that will be read later: `each` takes one entry.
template <class Each>
Coded take_coded(Taker& taker, const Each& each) {
  Coded out{.count = taker.varint()};
  const Bytes begin = taker.bytes;
  for (std::uint32_t i = 0; i < out.count && !taker.bad; ++i) each();
  out.bytes = begin.first(begin.size() - taker.bytes.size());
  return out;
}

void take_padding(Padding& out, Taker& taker) {
  out.usual = taker.u8();
  out.coded = take_coded(taker, [&] {
    taker.varint();
    taker.u8();
  });
}

std::uint32_t take_scans(Taker& taker, std::uint32_t max_scans, Reason& reason) {
  const std::uint32_t scans = taker.varint();
  if (scans > max_scans && !taker.bad) {
    reason = fmt::format("the restore data speak of {} scans, {} are allowed", with_commas(scans),
                         with_commas(max_scans));
  }
  return scans;
}

void take_runs(std::vector<OddRuns>& out, Taker& taker, std::uint32_t max_scans, Reason& reason) {
  const std::uint32_t scans = take_scans(taker, max_scans, reason);
  std::uint32_t scan = 0;
  for (std::uint32_t i = 0; i < scans && reason.empty() && !taker.bad; ++i) {
    OddRuns& runs = out.emplace_back();
    scan += taker.varint();
    runs.scan = scan++;
    runs.coded = take_coded(taker, [&] { taker.varint(); });
  }
}

void take_tails(std::vector<Tail>& out, Taker& taker, std::uint32_t max_scans, Reason& reason) {
  const std::uint32_t count = take_scans(taker, max_scans, reason);
  std::uint32_t scan = 0;
  for (std::uint32_t i = 0; i < count && reason.empty() && !taker.bad; ++i) {
    scan += taker.varint();
    const std::uint32_t size = taker.varint();
    taker.bad |= size > taker.bytes.size();
    if (taker.bad) return;
    out.push_back({scan++, taker.bytes.first(size)});
    taker.bytes = taker.bytes.subspan(size);
  }
}

void take_edges(Blocks& out, Taker& taker, std::size_t most, Reason& reason) {
  const std::uint32_t count = taker.varint();
  taker.bad |= count > taker.bytes.size() / kMinEdgeBytes;
  if (taker.bad) return;
  if (count > most) {
    reason =
        fmt::format("the restore data have {} blocks beyond the edge, the image has room for {}",
                    with_commas(count), with_commas(most));
    return;
  }
  out.resize(count);
  for (Block& block : out) {
    block = {};
    block[0] = taker.small();
    for (int values = taker.u8(); values > 0 && !taker.bad; --values) {
      const std::uint8_t place = taker.u8();
      taker.bad |= place < 1 || place > 63;
      block[kZigzag[place & 63]] = taker.small();
    }
    if (taker.bad) return;
  }
}

}  // namespace

Padding make_padding(const std::vector<std::uint8_t>& last_bytes) {
  const auto is_odd = [](std::uint8_t byte) { return byte % 2 != 0; };
  const auto ones = std::count_if(last_bytes.begin(), last_bytes.end(), is_odd);
  if (last_bytes.size() == 1 && ones == 0) return {.usual = last_bytes[0], .odd = {}};
  Padding out;
  // An interval without padding ends with a data bit, which is 0 in half of the cases.
  if (2 * ones < std::ssize(last_bytes)) out.usual = 0;
  for (std::size_t i = 0; i < last_bytes.size(); ++i) {
    if (is_odd(last_bytes[i]) != is_odd(out.usual)) out.odd.push_back({i, last_bytes[i]});
  }
  return out;
}

Padding make_full_padding(const std::vector<std::uint8_t>& last_bytes) {
  Padding out;
  out.odd.reserve(last_bytes.size() -
                  static_cast<std::size_t>(std::ranges::count(last_bytes, out.usual)));
  for (std::size_t i = 0; i < last_bytes.size(); ++i) {
    if (last_bytes[i] != out.usual) out.odd.push_back({i, last_bytes[i]});
  }
  return out;
}

void write_restore(std::vector<std::byte>& out, const Restore& restore) {
  const bool padded = restore.padding.usual != 0xff || !restore.padding.odd.empty() ||
                      restore.padding.coded.count > 0;
  int flags = (padded ? kPaddingFlag : 0) | (restore.odd_runs.empty() ? 0 : kRunsFlag) |
              (restore.tails.empty() ? 0 : kTailsFlag);
  for (int c = 0; c < kMaxComponents; ++c) {
    if (!restore.edges[c].empty()) flags |= 1 << c;
  }
  put_u8(out, static_cast<std::uint8_t>(flags));
  if (padded) put_padding(out, restore.padding);
  if (!restore.odd_runs.empty()) put_runs(out, restore.odd_runs);
  if (!restore.tails.empty()) put_tails(out, restore.tails);
  for (const Blocks& edges : restore.edges) {
    if (edges.empty()) continue;
    put_varint(out, static_cast<std::uint32_t>(edges.size()));
    for (const Block& block : edges) put_edge(out, block);
  }
}

std::size_t most_edges(const Component& component) {
  constexpr std::size_t kMaxFill = 3;  // of the 4 blocks of an MCU in a row or column
  const auto x = static_cast<std::size_t>(component.blocks_x);
  const auto y = static_cast<std::size_t>(component.blocks_y);
  return (x + kMaxFill) * (y + kMaxFill) - x * y;
}

std::optional<Fault> read_restore(Restore& out, Bytes bytes, const Geometry& geometry,
                                  std::uint32_t max_scans) {
  out = {};
  Taker taker{bytes};
  Reason reason;
  const std::uint8_t flags = taker.u8();
  taker.bad |= flags > kAllFlags;
  if (flags & kPaddingFlag) take_padding(out.padding, taker);
  if (flags & kRunsFlag) take_runs(out.odd_runs, taker, max_scans, reason);
  if (flags & kTailsFlag && reason.empty()) take_tails(out.tails, taker, max_scans, reason);
  for (int c = 0; c < kMaxComponents; ++c) {
    if (!(flags >> c & 1) || taker.bad || !reason.empty()) continue;
    const std::size_t most = c < geometry.components ? most_edges(geometry.component[c]) : 0;
    take_edges(out.edges[c], taker, most, reason);
  }
  if (taker.bad && reason.empty()) reason = "the restore data are damaged";
  if (!reason.empty()) {
    return Fault{ErrorCode::image_damaged, reason, bytes.size() - taker.bytes.size()};
  }
  out.literal = taker.bytes;
  return std::nullopt;
}

}  // namespace tundish::lanes
