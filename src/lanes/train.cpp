#include "lanes/train.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tundish::lanes {
namespace {

using Counts = std::array<double, 256>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Counts to_counts(const std::array<std::uint64_t, 256>& from) {
  Counts out;
  std::transform(from.begin(), from.end(), out.begin(),
                 [](std::uint64_t n) { return static_cast<double>(n); });
  return out;
}

double sum_of(const Counts& counts) {
  double sum = 0;
  for (const double n : counts) sum += n;
  return sum;
}

// Bits that a perfect coder needs for these symbols.
double entropy(const Counts& counts) {
  const double sum = sum_of(counts);
  double bits = 0;
  for (const double n : counts) {
    if (n > 0) bits -= n * std::log2(n / sum);
  }
  return bits;
}

Counts merged(const Counts& a, const Counts& b) {
  Counts out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
  return out;
}

struct Share {
  double count;
  int symbol;
};

// Whole frequencies that add up to 1024, at least 1 each, at the least loss.
std::vector<int> to_frequencies(const std::vector<Share>& shares) {
  double sum = 0;
  for (const Share& share : shares) sum += share.count;
  std::vector<int> out;
  int left = kTableSize;
  for (const Share& share : shares) {
    out.push_back(std::max(1, static_cast<int>(share.count / sum * kTableSize)));
    left -= out.back();
  }
  for (; left != 0; left += left > 0 ? -1 : 1) {
    double best_gain = -kInfinity;
    std::size_t best = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double f = out[i];
      if (left < 0 && out[i] == 1) continue;
      const double gain =
          shares[i].count * (left > 0 ? std::log2((f + 1) / f) : std::log2((f - 1) / f));
      if (gain > best_gain) {
        best_gain = gain;
        best = i;
      }
    }
    out[best] += left > 0 ? 1 : -1;
  }
  return out;
}

double bits_of(const std::vector<Share>& shares, const std::vector<int>& frequencies) {
  double bits = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double each =
        kTableBits - std::log2(frequencies[i]) + (shares[i].symbol == kEscape ? 8 : 0);
    bits += shares[i].count * each;
  }
  return bits;
}

// Frequent symbols get a place in the table, the others share the escape.
Frequencies fit_table(const Counts& counts) {
  std::vector<Share> sorted;
  for (int symbol = 0; symbol < 256; ++symbol) {
    const double count = counts[static_cast<std::size_t>(symbol)];
    if (count > 0) sorted.push_back({count, symbol});
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Share& a, const Share& b) { return a.count > b.count; });
  double best_bits = kInfinity;
  Frequencies best;
  const std::size_t step = 8;
  for (std::size_t kept = 0;; kept = std::min(kept + (kept < 16 ? 1 : step), sorted.size())) {
    std::vector<Share> shares(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(kept));
    double escaped = 1;
    for (std::size_t i = kept; i < sorted.size(); ++i) escaped += sorted[i].count;
    shares.push_back({escaped, kEscape});
    const std::vector<int> frequencies = to_frequencies(shares);
    const double bits = bits_of(shares, frequencies);
    if (bits < best_bits) {
      best_bits = bits;
      best = {};
      for (std::size_t i = 0; i < shares.size(); ++i) {
        best.of[static_cast<std::size_t>(shares[i].symbol)] =
            static_cast<std::uint16_t>(frequencies[i]);
      }
    }
    if (kept == sorted.size()) break;
  }
  return best;
}

}  // namespace

Statistics::Statistics()
    : start_(2), mask_(2 * kOctets * kContexts), values_(std::size_t{2} * 64 * 64 * kMagnitudes) {}

void Statistics::add(const UnitSymbols& unit) {
  const int blocks = unit.shape.blocks();
  blocks_ += static_cast<std::uint64_t>(blocks);
  for (int b = 0; b < blocks; ++b) {
    const BlockSymbols& block = unit.block[b];
    const std::size_t chroma = b >= unit.shape.luma();
    ++start_[chroma][block.start()];
    for (int octet = block.octets - 1; octet >= 0; --octet) {
      const int context = octet == block.octets - 1 ? 0 : next_context(block.octet(octet + 1));
      const std::size_t at = (chroma * kOctets + static_cast<std::size_t>(octet)) * kContexts +
                             static_cast<std::size_t>(context);
      ++mask_[at][block.octet(octet)];
    }
    for (std::size_t rank = 0; rank < block.count; ++rank) {
      const auto magnitude = static_cast<std::size_t>(std::abs(unit.value[block.first + rank]));
      const std::size_t row = (chroma * 64 + block.count) * 64 + rank;
      ++values_[row * kMagnitudes + std::min<std::size_t>(magnitude, kMagnitudes) - 1];
    }
  }
}

void Statistics::add(const Statistics& other) {
  blocks_ += other.blocks_;
  const auto add_symbols = [](std::vector<Symbols>& to, const std::vector<Symbols>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t s = 0; s < 256; ++s) to[i][s] += from[i][s];
    }
  };
  add_symbols(start_, other.start_);
  add_symbols(mask_, other.mask_);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
}

// 144 contexts share 16 tables: join the two that lose least by it until 16 are left.
void Statistics::fit_masks(Tables& out) const {
  const std::size_t n = mask_.size();
  std::vector<Counts> counts;
  for (const Symbols& symbols : mask_) counts.push_back(to_counts(symbols));
  std::vector<std::size_t> owner(n);
  std::vector<bool> alive(n);
  std::vector<double> bits(n);
  std::size_t left = 0;
  for (std::size_t i = 0; i < n; ++i) {
    owner[i] = i;
    bits[i] = entropy(counts[i]);
    alive[i] = sum_of(counts[i]) > 0;
    left += alive[i];
  }
  std::vector<double> loss(n * n, kInfinity);  // of joining i < j
  const auto set_loss = [&](std::size_t i, std::size_t j) {
    if (!alive[i] || !alive[j]) return;
    loss[std::min(i, j) * n + std::max(i, j)] =
        entropy(merged(counts[i], counts[j])) - bits[i] - bits[j];
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) set_loss(i, j);
  }
  for (; left > kMaskTables; --left) {
    const auto best =
        static_cast<std::size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
    const std::size_t i = best / n, j = best % n;
    counts[i] = merged(counts[i], counts[j]);
    bits[i] = entropy(counts[i]);
    alive[j] = false;
    std::replace(owner.begin(), owner.end(), j, i);
    for (std::size_t k = 0; k < n; ++k) {
      loss[std::min(j, k) * n + std::max(j, k)] = kInfinity;
      if (k != i) set_loss(i, k);
    }
  }
  std::vector<int> number(n, 0);
  int next = kStartTables;
  for (std::size_t i = 0; i < n; ++i) {
    if (!alive[i]) continue;
    number[i] = next;
    set_table(out, next++, fit_table(counts[i]));
  }
  for (; next < kTables; ++next) set_table(out, next, fit_table(Counts{}));
  for (std::size_t i = 0; i < n; ++i) {
    const int table = number[owner[i]] == 0 ? kStartTables : number[owner[i]];
    out.mask_table[i / kContexts / kOctets][i / kContexts % kOctets][i % kContexts] =
        static_cast<std::uint8_t>(table);
  }
}

// For every row the parameter with the fewest bits. Rows that were seen little borrow from rows
// of a similar number of non-zero coefficients.
void Statistics::fit_rice(Tables& out) const {
  constexpr double kEnough = 2000;
  for (int chroma = 0; chroma < 2; ++chroma) {
    for (int count = 0; count < 64; ++count) {
      for (int rank = 0; rank < 64; ++rank) {
        std::array<double, kMagnitudes> seen = {};
        double total = 0;
        for (int away = 0; away < 64 && total < kEnough; ++away) {
          for (const int other : {count - away, count + away}) {
            if (other < 0 || other > 63 || (away == 0 && other != count)) continue;
            const auto row = static_cast<std::size_t>((chroma * 64 + other) * 64 + rank);
            for (std::size_t m = 0; m < kMagnitudes; ++m) {
              seen[m] += values_[row * kMagnitudes + m];
              total += values_[row * kMagnitudes + m];
            }
            if (away == 0) break;
          }
        }
        double best_bits = kInfinity;
        for (int rice = 0; rice <= kMaxRice; ++rice) {
          double bits = 0;
          for (int m = 1; m <= kMagnitudes; ++m) {
            const ValueCode code = code_of(m, rice);
            const int each = code.quotient + 1 + rice + (code.escaped ? kEscapeBits : 0);
            bits += seen[static_cast<std::size_t>(m - 1)] * each;
          }
          if (bits < best_bits) {
            best_bits = bits;
            out.rice[chroma][count][rank] = static_cast<std::uint8_t>(rice);
          }
        }
      }
    }
  }
}

void Statistics::fit(Tables& out) const {
  out = {};
  for (int chroma = 0; chroma < 2; ++chroma) {
    set_table(out, chroma, fit_table(to_counts(start_[static_cast<std::size_t>(chroma)])));
  }
  fit_masks(out);
  fit_rice(out);
}

}  // namespace tundish::lanes
