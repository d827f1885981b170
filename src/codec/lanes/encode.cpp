#include "codec/lanes/encode.h"

#include <emmintrin.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tundish::lanes {
namespace {

constexpr double kCostUnit = 65536;
constexpr std::uint64_t kBitCost = 65536;

// Returns the bits of a symbol by its frequency, in 1/65536.
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

// The codes of magnitudes that are not escapes, by parameter.
struct ValueCodes {
  struct Code {
    std::uint16_t bits;
    std::uint8_t length;  // 0: an escape
  } of[kMaxRice + 1][128];
};
constexpr ValueCodes kValueCodes = [] {
  ValueCodes out = {};
  for (int rice = 0; rice <= kMaxRice; ++rice) {
    for (int magnitude = 1; magnitude < 128; ++magnitude) {
      const ValueCode code = code_of(magnitude, rice);
      if (code.escaped) continue;
      out.of[rice][magnitude] = {static_cast<std::uint16_t>((code.low << 1 | 1u) << code.quotient),
                                 static_cast<std::uint8_t>(code.quotient + 1 + rice)};
    }
  }
  return out;
}();

}  // namespace

void UnitEncoder::bits(int lane, unsigned value, int count) {
  *end_++ = {static_cast<std::uint16_t>(value), 1, static_cast<std::uint8_t>(count),
             static_cast<std::uint8_t>(lane)};
  cost_[lane] += kBitCost * static_cast<unsigned>(count);
}

void UnitEncoder::symbol(int lane, int table, unsigned symbol, const Tables& tables) {
  const bool escaped = tables.frequencies[table].of[symbol] == 0;
  const unsigned coded = escaped ? kEscape : symbol;
  const std::uint16_t frequency = tables.frequencies[table].of[coded];
  *end_++ = {tables.first[table][coded], frequency, kTableBits, static_cast<std::uint8_t>(lane)};
  cost_[lane] += symbol_costs()[frequency];
  if (escaped) {
    escapes_.push_back({static_cast<std::uint16_t>(symbol), 1, 8, static_cast<std::uint8_t>(lane)});
    cost_[lane] += kBitCost * 8;
  }
  if (lane == kLanes - 1) end_step();
}

void UnitEncoder::end_step() {
  for (const Step& step : escapes_) *end_++ = step;
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
  unsigned item = 0;
  std::uint32_t length_of[kLanes] = {};  // all codes of a lane
  for (int b = 0; b < symbols.shape.blocks(); ++b) {
    const BlockSymbols& block = symbols.block[b];
    const std::uint8_t* rice = tables.set[set_].rice[b >= symbols.shape.luma()][block.count];
    for (unsigned rank = 0; rank < block.count; ++rank, ++item) {
      const unsigned lane = item % kLanes;
      const int magnitude = std::abs(symbols.value[item]);
      ValueCodes::Code code = kValueCodes.of[rice[rank]][magnitude & 127];
      if (magnitude > 127 || code.length == 0) [[unlikely]] {
        const ValueCode escape = code_of(magnitude, rice[rank]);
        code = {static_cast<std::uint16_t>((escape.low << 1 | 1u) << escape.quotient),
                static_cast<std::uint8_t>(escape.quotient + 1 + rice[rank])};
        high_.push_back(static_cast<std::uint16_t>(escape.high));
      }
      *end_++ = {code.bits, 1, code.length, static_cast<std::uint8_t>(lane)};
      length_of[lane] += code.length;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) cost_[lane] += kBitCost * length_of[lane];
  for (std::size_t i = 0; i < high_.size(); ++i) {
    bits(static_cast<int>(i % kLanes), high_[i], kEscapeBits);
  }
}

// Collects the bits that are stored uncoded: the signs of all values, then the DC difference bits.
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
  int i = 0;
  for (; i + 16 <= symbols.values; i += 16) {  // whole words of signs
    const auto* eight = reinterpret_cast<const __m128i*>(symbols.value + i);
    const __m128i packed = _mm_packs_epi16(_mm_loadu_si128(eight), _mm_loadu_si128(eight + 1));
    raw_.push_back(static_cast<std::uint16_t>(_mm_movemask_epi8(packed)));
  }
  raw_size_ = i;
  for (; i < symbols.values; ++i) put(symbols.value[i] < 0, 1);
  for (int b = 0; b < symbols.shape.blocks(); ++b) {
    put(symbols.block[b].dc_bits, symbols.block[b].dc_size);
  }
  raw_.push_back(static_cast<std::uint16_t>(waiting));
  raw_.resize(raw_.size() + 2);  // allows read_raw() to read ahead
}

std::uint32_t UnitEncoder::read_raw(int at, int count) const {
  const std::size_t word = static_cast<std::size_t>(at) / 16;
  const std::uint64_t three =
      raw_[word] | std::uint64_t{raw_[word + 1]} << 16 | std::uint64_t{raw_[word + 2]} << 32;
  return static_cast<std::uint32_t>(three >> (at % 16)) & ((1u << count) - 1);
}

// A coder's first state is arbitrary, so it carries raw bits: as many as fit without making the
// last state, which is stored in 32 bits, overflow into one more word.
std::uint32_t UnitEncoder::first_state(int lane, int& raw) const {
  constexpr double kMargin = 0.002;  // bits that a coder may lose in total
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

// Without words, a state may fall to 1. Units with little content then need not fill 32 full
// states: 16 bits per state suffice. Returns false if the steps of a lane do not fit into 16 bits.
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
    for (const Step* step = end_; step-- != steps_.data();) {
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

// Computes the words that the lanes will take, last one first, and the states that take them.
void UnitEncoder::find_states(std::uint32_t* state, int& raw) {
  words_.resize(kMaxSteps);
  std::uint16_t* word = words_.data();
  // Whether a lane emits a word is unpredictable, so this code has no branch.
  const auto give = [&](std::uint32_t x, bool full) {
    *word = static_cast<std::uint16_t>(x);
    word += full;
    return full ? x >> 16 : x;
  };
  raw = 0;
  for (int lane = 0; lane < kLanes; ++lane) state[lane] = first_state(lane, raw);
  for (const Step* step = end_; step-- != steps_.data();) {
    std::uint32_t x = state[step->lane];
    const std::uint32_t f = step->frequency;
    if (f == 1) {
      x = give(x, x >> (kHighStateBits - step->bits) != 0);
      x = x << step->bits | step->low;
    } else {
      x = give(x, x >= f << (kHighStateBits - kTableBits));
      x = ((x / f) << kTableBits) + x % f + step->low;
    }
    state[step->lane] = x;
  }
  words_.resize(static_cast<std::size_t>(word - words_.data()));
}

void UnitEncoder::encode(std::vector<std::byte>& out, const UnitSymbols& symbols,
                         const Tables& tables, int set) {
  set_ = set;
  end_ = steps_.data();
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

  assert(words_.size() < kNarrow);
  const auto raw_words = static_cast<std::size_t>((raw_size_ - raw + 15) / 16);
  const std::size_t at = out.size();
  out.resize(at + (narrow ? kNarrowHeadBytes : kUnitHeadBytes) + 2 * (words_.size() + raw_words));
  std::byte* to = out.data() + at;
  const auto put = [&](std::uint32_t word) {
    store(to, static_cast<std::uint16_t>(word));
    to += 2;
  };
  put(narrow ? kNarrow : static_cast<std::uint32_t>(words_.size()));
  for (const std::uint32_t x : state) {
    put(x);
    if (!narrow) put(x >> 16);
  }
  for (auto word = words_.rbegin(); word != words_.rend(); ++word) put(*word);
  for (; raw < raw_size_; raw += 16) put(read_raw(raw, std::min(16, raw_size_ - raw)));
}

}  // namespace tundish::lanes
