#include "lanes/encode.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tundish::lanes {
namespace {

constexpr double kCostUnit = 65536;
constexpr std::uint64_t kBitCost = 65536;

// Bits of a symbol by its frequency, in 1/65536.
const std::uint32_t* symbol_costs() {
  static const auto costs = [] {
    std::array<std::uint32_t, kTableSize + 1> out = {};
    for (int f = 1; f <= kTableSize; ++f) {
      out[static_cast<std::size_t>(f)] =
          static_cast<std::uint32_t>(std::lround((kTableBits - std::log2(f)) * kCostUnit));
    }
    return out;
  }();
  return costs.data();
}

// Signs of the values at, at + 1, ..., the first in the lowest bit.
std::uint32_t read_signs(const UnitSymbols& symbols, int at, int count) {
  std::uint32_t out = 0;
  for (int i = 0; i < count; ++i) out |= std::uint32_t{symbols.value[at + i] < 0} << i;
  return out;
}

}  // namespace

void UnitEncoder::bits(int lane, unsigned value, int count) {
  steps_.push_back({static_cast<std::uint16_t>(value), 1, static_cast<std::uint8_t>(count),
                    static_cast<std::uint8_t>(lane)});
  cost_[lane] += kBitCost * static_cast<unsigned>(count);
}

void UnitEncoder::symbol(int lane, int table, unsigned symbol, const Tables& tables) {
  const bool escaped = tables.frequencies[table].of[symbol] == 0;
  const unsigned coded = escaped ? kEscape : symbol;
  const std::uint16_t frequency = tables.frequencies[table].of[coded];
  steps_.push_back(
      {tables.first[table][coded], frequency, kTableBits, static_cast<std::uint8_t>(lane)});
  cost_[lane] += symbol_costs()[frequency];
  if (escaped) {
    escapes_.push_back({static_cast<std::uint16_t>(symbol), 1, 8, static_cast<std::uint8_t>(lane)});
    cost_[lane] += kBitCost * 8;
  }
  if (lane == kLanes - 1) end_step();
}

void UnitEncoder::end_step() {
  steps_.insert(steps_.end(), escapes_.begin(), escapes_.end());
  escapes_.clear();
}

void UnitEncoder::starts(const UnitSymbols& symbols, const Tables& tables) {
  const int blocks = symbols.shape.blocks();
  for (int from = 0; from < blocks; from += kLanes) {
    const int to = std::min(from + kLanes, blocks);
    for (int b = from; b < to; ++b) {
      symbol(b - from, b >= symbols.shape.luma(), symbols.block[b].start(), tables);
    }
    end_step();
    for (int b = from; b < to; ++b) {
      bits(b - from, symbols.block[b].dc_bits, symbols.block[b].dc_size);
    }
  }
}

void UnitEncoder::masks(const UnitSymbols& symbols, const Tables& tables) {
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int item = 0;
    for (int b = 0; b < symbols.shape.blocks(); ++b) {
      const BlockSymbols& block = symbols.block[b];
      if (block.octets <= octet) continue;
      const int context = block.octets == octet + 1 ? 0 : next_context(block.octet(octet + 1));
      const int table = tables.mask_table[b >= symbols.shape.luma()][octet][context];
      symbol(item++ % kLanes, table, block.octet(octet), tables);
    }
    end_step();
  }
}

void UnitEncoder::values(const UnitSymbols& symbols, const Tables& tables) {
  high_.clear();
  int item = 0;
  for (int b = 0; b < symbols.shape.blocks(); ++b) {
    const BlockSymbols& block = symbols.block[b];
    const std::uint8_t* rice = tables.rice[b >= symbols.shape.luma()][block.count];
    for (int rank = 0; rank < block.count; ++rank, ++item) {
      const ValueCode code = code_of(std::abs(symbols.value[item]), rice[rank]);
      bits(item % kLanes, (code.low << 1 | 1u) << code.quotient, code.quotient + 1 + rice[rank]);
      if (code.escaped) high_.push_back(static_cast<std::uint16_t>(code.high));
    }
  }
  for (std::size_t i = 0; i < high_.size(); ++i) {
    bits(static_cast<int>(i % kLanes), high_[i], kEscapeBits);
  }
}

// A coder's first state is free to choose, so it carries signs: as many as fit without making the
// last state, which is stored in 32 bits, overflow into one more word.
std::uint32_t UnitEncoder::first_state(int lane, const UnitSymbols& symbols, int& sign) const {
  constexpr double kMargin = 0.002;  // bits that a coder may lose on the way
  const double cost = static_cast<double>(cost_[lane]) / kCostUnit;
  const double room = kHighStateBits - std::fmod(cost, 16) - kMargin;
  const auto largest = static_cast<std::uint32_t>(std::exp2(room));
  int count = std::min(15, symbols.values - sign);
  std::uint32_t state = 1u << 15 | read_signs(symbols, sign, count);
  for (int more = 16; more <= 30 && sign + more <= symbols.values; ++more) {
    const std::uint32_t larger = 1u << more | read_signs(symbols, sign, more);
    if (larger > largest) break;
    state = larger;
    count = more;
  }
  sign += count;
  return state;
}

void UnitEncoder::encode(std::vector<std::byte>& out, const UnitSymbols& symbols,
                         const Tables& tables) {
  steps_.clear();
  words_.clear();
  std::fill(std::begin(cost_), std::end(cost_), 0);
  starts(symbols, tables);
  masks(symbols, tables);
  values(symbols, tables);

  std::uint32_t state[kLanes];
  int sign = 0;
  for (int lane = 0; lane < kLanes; ++lane) state[lane] = first_state(lane, symbols, sign);
  const int sign_words = (symbols.values - sign + 15) / 16;

  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::uint32_t& x = state[step->lane];
    if (step->frequency == 1) {
      if (x >> (kHighStateBits - step->bits) != 0) {
        words_.push_back(static_cast<std::uint16_t>(x));
        x >>= 16;
      }
      x = x << step->bits | step->low;
    } else {
      const std::uint32_t f = step->frequency;
      if (x >= f << (kHighStateBits - kTableBits)) {
        words_.push_back(static_cast<std::uint16_t>(x));
        x >>= 16;
      }
      x = ((x / f) << kTableBits) + x % f + step->low;
    }
  }

  assert(words_.size() < 65536);
  const std::size_t at = out.size();
  out.resize(at + kUnitHeadBytes + 2 * (words_.size() + static_cast<std::size_t>(sign_words)));
  std::byte* to = out.data() + at;
  store(to, static_cast<std::uint16_t>(words_.size()));
  std::memcpy(to + 2, state, sizeof state);
  to += kUnitHeadBytes;
  for (auto word = words_.rbegin(); word != words_.rend(); ++word, to += 2) store(to, *word);
  for (; sign < symbols.values; sign += 16, to += 2) {
    const int count = std::min(16, symbols.values - sign);
    store(to, static_cast<std::uint16_t>(read_signs(symbols, sign, count)));
  }
}

}  // namespace tundish::lanes
