#include "codec/lanes/tables.h"

#include <fmt/format.h>

#include <cstring>

namespace tundish::lanes {
namespace {

constexpr std::size_t kFrequencyBytes = sizeof(std::uint16_t) * 257;
constexpr std::size_t kMaskTableBytes = 2 * kOctets * kContexts;
constexpr std::size_t kRiceBytes = 2 * 64 * 64;
constexpr std::size_t kBytes = kTables * kFrequencyBytes + kSets * (kMaskTableBytes + kRiceBytes);

Fault fault(std::string reason, std::size_t offset) {
  return {ErrorCode::metadata_damaged, "lanes tables: " + std::move(reason), offset};
}

}  // namespace

void set_table(Tables& out, int table, const Frequencies& frequencies) {
  out.frequencies[table] = frequencies;
  std::uint32_t sum = 0;
  for (std::uint32_t symbol = 0; symbol <= kEscape; ++symbol) {
    const std::uint32_t frequency = frequencies.of[symbol];
    out.first[table][symbol] = static_cast<std::uint16_t>(sum);
    const std::uint32_t tag = symbol == kEscape ? 1u << 21 : symbol << 24;
    for (std::uint32_t i = 0; i < frequency; ++i) {
      out.entry[table][sum + i] = i | frequency << 10 | tag;
    }
    sum += frequency;
  }
}

std::vector<std::byte> encode_tables(const Tables& tables) {
  std::vector<std::byte> out(kBytes);
  std::byte* to = out.data();
  for (const Frequencies& frequencies : tables.frequencies) {
    std::memcpy(to, frequencies.of.data(), kFrequencyBytes);
    to += kFrequencyBytes;
  }
  for (const TableSet& set : tables.set) {
    for (const auto& component : set.mask_table) {
      for (const auto& octet : component) {
        for (int context = 0; context < kContexts; ++context) {
          *to++ = static_cast<std::byte>(octet[context] - kStartTables);
        }
      }
    }
    std::memcpy(to, set.rice, kRiceBytes);
    to += kRiceBytes;
  }
  return out;
}

std::optional<Fault> decode_tables(Tables& out, Bytes bytes) {
  if (bytes.size() != kBytes) {
    return fault(fmt::format("{} bytes where {} were expected", bytes.size(), kBytes), 0);
  }
  out = {};
  const std::byte* from = bytes.data();
  for (int table = 0; table < kTables; ++table, from += kFrequencyBytes) {
    Frequencies frequencies;
    std::memcpy(frequencies.of.data(), from, kFrequencyBytes);
    std::uint32_t sum = 0;
    for (const std::uint16_t frequency : frequencies.of) sum += frequency;
    if (sum != kTableSize || frequencies.of[kEscape] == 0) {
      return fault(fmt::format("frequencies of table {} add up to {}, {} of them the escape's",
                               table, sum, frequencies.of[kEscape]),
                   static_cast<std::size_t>(from - bytes.data()));
    }
    set_table(out, table, frequencies);
  }
  const auto at = [&] { return static_cast<std::size_t>(from - bytes.data()); };
  for (TableSet& set : out.set) {
    for (auto& component : set.mask_table) {
      for (auto& octet : component) {
        for (int context = 0; context < kContexts; ++context, ++from) {
          const auto table = static_cast<std::uint8_t>(*from);
          if (table >= kMaskTables) return fault(fmt::format("no mask table {}", table), at());
          octet[context] = static_cast<std::uint8_t>(table + kStartTables);
        }
      }
    }
    for (auto& component : set.rice) {
      for (auto& row : component) {
        for (std::uint8_t& rice : row) {
          rice = static_cast<std::uint8_t>(*from);
          if (rice > kMaxRice) return fault(fmt::format("a value parameter of {}", rice), at());
          ++from;
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace tundish::lanes
