#include "codec/lanes/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace tundish::lanes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sum_of(const Counts& counts) {
  double sum = 0;
  for (const double n : counts) sum += n;
  return sum;
}

// Returns log2 to five digits: identical on every machine, and fast, because it is called a hundred
// million times.
float quick_log2(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127);
  const float m = std::bit_cast<float>((bits & 0x7fffff) | 0x3f800000) - 1;
  return exponent +
         m * (1.4426823f +
              m * (-0.7206174f +
                   m * (0.4736434f + m * (-0.3171734f + m * (0.1664377f + m * -0.0449724f)))));
}

// Returns the bits that a perfect coder needs for these symbols.
double entropy(const Counts& counts) {
  const double sum = sum_of(counts);
  if (sum == 0) return 0;
  float spent[8] = {};
  for (std::size_t i = 0; i < counts.size(); i += 8) {
    for (std::size_t k = 0; k < 8; ++k) {
      const auto n = static_cast<float>(counts[i + k]);
      spent[k] += n * quick_log2(n + 1e-30f);
    }
  }
  double bits = sum * std::log2(sum);
  for (const float part : spent) bits -= double{part};
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

// Returns integer frequencies of at least 1 that add up to 1024, with the least loss.
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

// Groups of contexts, joined pairwise. The loss of a pair is the number of bits that a join costs.
class Groups {
 public:
  explicit Groups(std::vector<Counts> counts)
      : n_(counts.size()),
        counts_(std::move(counts)),
        owner_(n_),
        alive_(n_, true),
        bits_(n_),
        loss_(n_ * n_, kInfinity),
        best_(n_, 0) {
    for (std::size_t i = 0; i < n_; ++i) {
      owner_[i] = i;
      bits_[i] = entropy(counts_[i]);
    }
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) set_loss(i, j);
    }
    for (std::size_t i = 0; i < n_; ++i) find_best(i);
  }

  // Joins the pair with the least loss.
  void join_two() {
    std::size_t i = 0;
    double least = kInfinity;
    for (std::size_t k = 0; k < n_; ++k) {
      if (best_[k] != k && loss_[k * n_ + best_[k]] < least) {
        least = loss_[k * n_ + best_[k]];
        i = k;
      }
    }
    const std::size_t j = best_[i];
    counts_[i] = merged(counts_[i], counts_[j]);
    bits_[i] = entropy(counts_[i]);
    alive_[j] = false;
    std::replace(owner_.begin(), owner_.end(), j, i);
    for (std::size_t k = 0; k < n_; ++k) {
      if (k != i) set_loss(i, k);
      if (k != j) set_loss(j, k);
    }
    for (std::size_t k = 0; k < n_; ++k) {
      if (k <= j) find_best(k);  // i < j, and row k covers only later groups
    }
  }

  // Returns the group number of each context; `left` receives the remaining groups.
  std::vector<int> number(std::vector<Counts>& left) const {
    std::vector<int> number(n_, 0), out(n_);
    left.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      if (!alive_[i]) continue;
      number[i] = static_cast<int>(left.size());
      left.push_back(counts_[i]);
    }
    for (std::size_t i = 0; i < n_; ++i) out[i] = number[owner_[i]];
    return out;
  }

 private:
  void set_loss(std::size_t i, std::size_t j) {
    loss_[std::min(i, j) * n_ + std::max(i, j)] =
        alive_[i] && alive_[j] ? entropy(merged(counts_[i], counts_[j])) - bits_[i] - bits_[j]
                               : kInfinity;
  }

  void find_best(std::size_t i) {
    best_[i] = i;
    double least = kInfinity;
    for (std::size_t j = i + 1; j < n_; ++j) {
      if (loss_[i * n_ + j] < least) {
        least = loss_[i * n_ + j];
        best_[i] = j;
      }
    }
  }

  const std::size_t n_;
  std::vector<Counts> counts_;
  std::vector<std::size_t> owner_;
  std::vector<bool> alive_;
  std::vector<double> bits_;
  std::vector<double> loss_;
  // Best later partner of each group, so that a join costs one row of comparisons instead of all.
  std::vector<std::size_t> best_;
};

}  // namespace

void Statistics::add(const ImageSample::Unit& unit, double weight) {
  blocks += static_cast<double>(unit.blocks.size());
  for (std::size_t b = 0; b < unit.blocks.size(); ++b) {
    const BlockSymbols& block = unit.blocks[b];
    const bool chroma = static_cast<int>(b) >= unit.shape.luma();
    start[chroma][block.start()] += weight;
    for (int octet = block.octets - 1; octet >= 0; --octet) {
      const int context = octet == block.octets - 1 ? 0 : next_context(block.octet(octet + 1));
      mask[mask_context(chroma, octet, context)][block.octet(octet)] += weight;
    }
    for (std::size_t rank = 0; rank < block.count; ++rank) {
      const auto magnitude = static_cast<std::size_t>(std::abs(unit.values[block.first + rank]));
      const std::size_t row = (std::size_t{chroma} * 64 + block.count) * 64 + rank;
      values[row * kMagnitudes + std::min<std::size_t>(magnitude, kMagnitudes) - 1] +=
          static_cast<float>(weight);
    }
  }
}

// Gives frequent symbols a slot in the table; the other symbols share the escape.
Frequencies fit_table(const Counts& counts) {
  std::vector<Share> sorted;
  for (int symbol = 0; symbol < 256; ++symbol) {
    const double count = counts[static_cast<std::size_t>(symbol)];
    if (count > 0) sorted.push_back({count, symbol});
  }
  std::sort(sorted.begin(), sorted.end(), [](const Share& a, const Share& b) {
    return a.count != b.count ? a.count > b.count : a.symbol < b.symbol;
  });
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

// Joins the pair with the least loss until few enough groups remain.
std::vector<int> join_contexts(const std::vector<Counts>& counts, std::vector<Counts>& tables) {
  std::vector<std::size_t> seen;  // contexts that occur
  std::vector<Counts> occurring;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!(sum_of(counts[i]) > 0)) continue;
    seen.push_back(i);
    occurring.push_back(counts[i]);
  }
  Groups groups(std::move(occurring));
  for (std::size_t left = seen.size(); left > kMaskTables; --left) groups.join_two();
  const std::vector<int> number = groups.number(tables);
  tables.resize(kMaskTables);
  std::vector<int> out(counts.size(), 0);
  for (std::size_t i = 0; i < seen.size(); ++i) out[seen[i]] = number[i];
  return out;
}

// Rows with few observations borrow from rows with a similar number of non-zero coefficients.
void fit_rice(TableSet& out, const Statistics& statistics) {
  constexpr float kEnough = 2000;
  float bits_of_value[kMagnitudes][kMaxRice + 1];
  for (int rice = 0; rice <= kMaxRice; ++rice) {
    for (int m = 1; m <= kMagnitudes; ++m) {
      const ValueCode code = code_of(m, rice);
      bits_of_value[m - 1][rice] =
          static_cast<float>(code.quotient + 1 + rice + (code.escaped ? kEscapeBits : 0));
    }
  }
  const auto row_of = [&](int chroma, int count, int rank) {
    const auto row = static_cast<std::size_t>((chroma * 64 + count) * 64 + rank);
    return statistics.values.data() + row * kMagnitudes;
  };
  for (int chroma = 0; chroma < 2; ++chroma) {
    for (int rank = 0; rank < 64; ++rank) {
      float total_of[64] = {};
      for (int count = rank + 1; count < 64; ++count) {
        const float* row = row_of(chroma, count, rank);
        total_of[count] = std::accumulate(row, row + kMagnitudes, 0.0f);
      }
      for (int count = rank + 1; count < 64; ++count) {  // a block's rank is below its count
        std::array<float, kMagnitudes> seen = {};
        float total = 0;
        const auto borrow = [&](int other) {
          if (other <= rank || other > 63 || total_of[other] == 0) return;
          total += total_of[other];
          const float* row = row_of(chroma, other, rank);
          for (std::size_t m = 0; m < kMagnitudes; ++m) seen[m] += row[m];
        };
        borrow(count);
        for (int away = 1; away < 64 && total < kEnough; ++away) {
          borrow(count - away);
          borrow(count + away);
        }
        float bits[kMaxRice + 1] = {};
        for (std::size_t m = 0; m < kMagnitudes; ++m) {
          for (int rice = 0; rice <= kMaxRice; ++rice)
            bits[rice] += seen[m] * bits_of_value[m][rice];
        }
        out.rice[chroma][count][rank] =
            static_cast<std::uint8_t>(std::min_element(bits, bits + kMaxRice + 1) - bits);
      }
    }
  }
}

}  // namespace tundish::lanes
