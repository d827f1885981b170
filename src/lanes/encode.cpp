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
  for (int b = 0; b < symbols.shape.blocks(); ++b) {
    symbol(b % kLanes, start_table(set_, b >= symbols.shape.luma()), symbols.block[b].start(),
           tables);
  }
  end_step();
}

void UnitEncoder::masks(const UnitSymbols& symbols, const Tables& tables) {
  for (int octet = kOctets - 1; octet >= 0; --octet) {
    int item = 0;
    for (int b = 0; b < symbols.shape.blocks(); ++b) {
      const BlockSymbols& block = symbols.block[b];
      if (block.octets <= octet) continue;
      const int context = block.octets == octet + 1 ? 0 : next_context(block.octet(octet + 1));
      const int table = tables.set[set_].mask_table[b >= symbols.shape.luma()][octet][context];
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
    const std::uint8_t* rice = tables.set[set_].rice[b >= symbols.shape.luma()][block.count];
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

// What needs no coder: the signs of all values, then the bits of all differences of DC.
void UnitEncoder::raw_bits(const UnitSymbols& symbols) {
  raw_.clear();
  raw_size_ = 0;
  std::uint64_t waiting = 0;
  int count = 0;
  const auto put = [&](unsigned bits, int more) {
    waiting |= std::uint64_t{bits} << count;
    raw_size_ += more;
    for (count += more; count >= 16; count -= 16, waiting >>= 16) {
      raw_.push_back(static_cast<std::uint16_t>(waiting));
    }
  };
  for (int i = 0; i < symbols.values; ++i) put(symbols.value[i] < 0, 1);
  for (int b = 0; b < symbols.shape.blocks(); ++b) {
    put(symbols.block[b].dc_bits, symbols.block[b].dc_size);
  }
  raw_.push_back(static_cast<std::uint16_t>(waiting));
  raw_.resize(raw_.size() + 2);  // so that read_raw may look ahead
}

std::uint32_t UnitEncoder::read_raw(int at, int count) const {
  const std::size_t word = static_cast<std::size_t>(at) / 16;
  const std::uint64_t three =
      raw_[word] | std::uint64_t{raw_[word + 1]} << 16 | std::uint64_t{raw_[word + 2]} << 32;
  return static_cast<std::uint32_t>(three >> (at % 16)) & ((1u << count) - 1);
}

// A coder's first state is free to choose, so it carries raw bits: as many as fit without making
// the last state, which is stored in 32 bits, overflow into one more word.
std::uint32_t UnitEncoder::first_state(int lane, int& raw) const {
  constexpr double kMargin = 0.002;  // bits that a coder may lose on the way
  const double cost = static_cast<double>(cost_[lane]) / kCostUnit;
  const double room = kHighStateBits - std::fmod(cost, 16) - kMargin;
  const auto largest = static_cast<std::uint32_t>(std::exp2(room));
  int count = std::min(15, raw_size_ - raw);
  std::uint32_t state = 1u << 15 | read_raw(raw, count);
  for (int more = 16; more <= 30 && raw + more <= raw_size_; ++more) {
    const std::uint32_t larger = 1u << more | read_raw(raw, more);
    if (larger > largest) break;
    state = larger;
    count = more;
  }
  raw += count;
  return state;
}

// Without words a state may fall to 1, so that units with little in them need not fill 32 states
// of 16 bits and more. False when the steps of a lane do not fit into 16 bits.
bool UnitEncoder::find_narrow_states(std::uint32_t* state, int& raw) const {
  constexpr std::uint64_t kFull = kBitCost * 16;
  if (*std::max_element(cost_, cost_ + kLanes) >= kFull) return false;
  int carried[kLanes];  // raw bits in each state
  for (int lane = 0; lane < kLanes; ++lane) {
    carried[lane] = static_cast<int>((kFull - cost_[lane]) / kBitCost);
  }
  for (bool again = true; again;) {
    raw = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int count = std::min(carried[lane], raw_size_ - raw);
      state[lane] = 1u << count | read_raw(raw, count);
      raw += count;
    }
    again = false;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      std::uint32_t& x = state[step->lane];
      x = (x / step->frequency << step->bits) + x % step->frequency + step->low;
      if (x < 1u << 16) continue;
      if (carried[step->lane]-- == 0) return false;
      again = true;
      break;
    }
  }
  return true;
}

// Words that the lanes will take, last one first, and the states that take them.
void UnitEncoder::find_states(std::uint32_t* state, int& raw) {
  words_.clear();
  raw = 0;
  for (int lane = 0; lane < kLanes; ++lane) state[lane] = first_state(lane, raw);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::uint32_t& x = state[step->lane];
    const std::uint32_t f = step->frequency;
    if (f == 1) {
      if (x >> (kHighStateBits - step->bits) != 0) {
        words_.push_back(static_cast<std::uint16_t>(x));
        x >>= 16;
      }
      x = x << step->bits | step->low;
    } else {
      if (x >= f << (kHighStateBits - kTableBits)) {
        words_.push_back(static_cast<std::uint16_t>(x));
        x >>= 16;
      }
      x = ((x / f) << kTableBits) + x % f + step->low;
    }
  }
}

void UnitEncoder::encode(std::vector<std::byte>& out, const UnitSymbols& symbols,
                         const Tables& tables, int set) {
  set_ = set;
  steps_.clear();
  std::fill(std::begin(cost_), std::end(cost_), 0);
  starts(symbols, tables);
  masks(symbols, tables);
  values(symbols, tables);
  raw_bits(symbols);

  std::uint32_t state[kLanes];
  int raw = 0;
  words_.clear();
  const bool narrow = find_narrow_states(state, raw);
  if (!narrow) find_states(state, raw);

  const auto put = [&](std::uint32_t word) {
    out.push_back(static_cast<std::byte>(word));
    out.push_back(static_cast<std::byte>(word >> 8));
  };
  assert(words_.size() < kNarrow);
  put(narrow ? kNarrow : static_cast<std::uint32_t>(words_.size()));
  for (const std::uint32_t x : state) {
    put(x);
    if (!narrow) put(x >> 16);
  }
  for (auto word = words_.rbegin(); word != words_.rend(); ++word) put(*word);
  for (; raw < raw_size_; raw += 16) put(read_raw(raw, std::min(16, raw_size_ - raw)));
}

}  // namespace tundish::lanes
