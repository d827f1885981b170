#include "codec/lanes/train.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "codec/lanes/statistics.h"

namespace tundish::lanes {
namespace {

constexpr int kRounds = 4;        // rounds of sorting images into kinds
constexpr double kGrowth = 1.04;  // size relative to the file; images above get more weight
constexpr double kWeightOfGrowing = 4;
constexpr int kUnitsToJudge = 8;  // units used to choose an image's set

// Bits of every symbol and value under the statistics of one kind of image.
struct Costs {
  std::vector<std::array<float, 256>> start, mask;
  TableSet set = {};

  explicit Costs(const Statistics& statistics) {
    for (const Counts& counts : statistics.start) start.push_back(bits_of(counts));
    for (const Counts& counts : statistics.mask) mask.push_back(bits_of(counts));
    fit_rice(set, statistics);
  }

  // An unseen symbol costs as much as a rare symbol plus its escape.
  static std::array<float, 256> bits_of(const Counts& counts) {
    const double sum = std::accumulate(counts.begin(), counts.end(), 2.0);
    std::array<float, 256> out;
    for (std::size_t i = 0; i < 256; ++i) {
      out[i] = static_cast<float>(counts[i] > 0 ? std::log2(sum / counts[i]) : std::log2(sum) + 8);
    }
    return out;
  }
};

// Magnitudes from kMagnitudes on are escapes of equal length.
constexpr auto kValueBits = [] {
  std::array<std::array<std::uint8_t, kMagnitudes + 1>, kMaxRice + 1> out = {};
  for (int rice = 0; rice <= kMaxRice; ++rice) {
    for (int magnitude = 1; magnitude <= kMagnitudes; ++magnitude) {
      const ValueCode code = code_of(magnitude, rice);
      out[static_cast<std::size_t>(rice)][static_cast<std::size_t>(magnitude)] =
          static_cast<std::uint8_t>(code.quotient + 1 + rice + (code.escaped ? kEscapeBits : 0));
    }
  }
  return out;
}();
int value_bits(int magnitude, int rice) {
  return kValueBits[static_cast<std::size_t>(rice)]
                   [static_cast<std::size_t>(std::min(magnitude, kMagnitudes))];
}

double cost_of(const ImageSample& image, const Costs& costs) {
  double bits = 0;
  for (const ImageSample::Unit& unit : image.units) {
    for (std::size_t b = 0; b < unit.blocks.size(); ++b) {
      const BlockSymbols& block = unit.blocks[b];
      const bool chroma = static_cast<int>(b) >= unit.shape.luma();
      bits += costs.start[chroma][block.start()];
      for (int octet = block.octets - 1; octet >= 0; --octet) {
        const int context = octet == block.octets - 1 ? 0 : next_context(block.octet(octet + 1));
        bits += costs.mask[mask_context(chroma, octet, context)][block.octet(octet)];
      }
      const std::uint8_t* rice = costs.set.rice[chroma][block.count];
      for (std::size_t rank = 0; rank < block.count; ++rank) {
        bits += value_bits(std::abs(unit.values[block.first + rank]), rice[rank]);
      }
    }
  }
  return bits;
}

double values_per_block(const ImageSample& image) {
  double values = 0, blocks = 1;
  for (const ImageSample::Unit& unit : image.units) {
    values += static_cast<double>(unit.values.size());
    blocks += static_cast<double>(unit.blocks.size());
  }
  return values / blocks;
}

// Returns the bits of signs and DC, which do not depend on the tables.
double raw_bits(const ImageSample& image) {
  double bits = 0;
  for (const ImageSample::Unit& unit : image.units) {
    bits += static_cast<double>(unit.values.size());
    for (const BlockSymbols& block : unit.blocks) bits += block.dc_size;
  }
  return bits;
}

struct Kinds {
  std::vector<int> of;       // kind of each image
  std::vector<double> bits;  // bits of each image with its kind's tables, without raw bits
};

// Sorts images first by the number of values per block, so that a few unusual images form a
// separate kind. Then assigns each image to the kind whose tables suit it best.
Kinds sort_into_kinds(std::span<const ImageSample> images, const std::vector<double>& weight) {
  std::vector<double> density;
  for (const ImageSample& image : images) density.push_back(std::log1p(values_per_block(image)));
  const auto [low, high] = std::minmax_element(density.begin(), density.end());
  std::vector<int> kind(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const double place = *high > *low ? (density[i] - *low) / (*high - *low) : 0;
    kind[i] = std::min(static_cast<int>(place * kSets), kSets - 1);
  }
  std::vector<double> bits_of(images.size());
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Statistics> statistics(kSets);
    for (std::size_t i = 0; i < images.size(); ++i) {
      for (const auto& unit : images[i].units) {
        statistics[static_cast<std::size_t>(kind[i])].add(unit, weight[i]);
      }
    }
    std::vector<Costs> costs;
    for (const Statistics& one : statistics) costs.emplace_back(one);
    bool moved = false;
    for (std::size_t i = 0; i < images.size(); ++i) {
      int best = kind[i];
      double least = cost_of(images[i], costs[static_cast<std::size_t>(best)]);
      for (int k = 0; k < kSets; ++k) {
        const double bits = cost_of(images[i], costs[static_cast<std::size_t>(k)]);
        if (bits < least) {
          least = bits;
          best = k;
        }
      }
      moved |= best != kind[i];
      kind[i] = best;
      bits_of[i] = least;
    }
    if (!moved) break;
  }
  return {std::move(kind), std::move(bits_of)};
}

float table_bits(const Tables& tables, int table, unsigned symbol) {
  static const auto bits = [] {
    std::array<float, kTableSize + 1> out = {};
    for (std::size_t f = 1; f <= kTableSize; ++f) {
      out[f] = kTableBits - std::log2(static_cast<float>(f));
    }
    return out;
  }();
  const std::uint16_t frequency = tables.frequencies[table].of[symbol];
  return frequency > 0 ? bits[frequency] : bits[tables.frequencies[table].of[kEscape]] + 8;
}

// Returns the cost of a unit, without the parts that are equal for all sets.
float cost_of(const UnitSymbols& unit, const Tables& tables, int set) {
  const TableSet& chosen = tables.set[set];
  float bits = 0;
  for (int b = 0; b < unit.shape.blocks(); ++b) {
    const BlockSymbols& block = unit.block[b];
    const bool chroma = b >= unit.shape.luma();
    bits += table_bits(tables, start_table(set, chroma), block.start());
    for (int octet = block.octets - 1; octet >= 0; --octet) {
      const int context = octet == block.octets - 1 ? 0 : next_context(block.octet(octet + 1));
      bits += table_bits(tables, chosen.mask_table[chroma][octet][context], block.octet(octet));
    }
    const std::uint8_t* rice = chosen.rice[chroma][block.count];
    int value = 0;
    for (std::size_t rank = 0; rank < block.count; ++rank) {
      value += value_bits(std::abs(unit.value[block.first + rank]), rice[rank]);
    }
    bits += static_cast<float>(value);
  }
  return bits;
}

}  // namespace

void take_sample(ImageSample& out, const Coefficients& image, int most, UnitSymbols& scratch) {
  out.units.clear();
  const Geometry& geometry = image.geometry;
  const int count = std::min(most, geometry.units());
  for (int i = 0; i < count; ++i) {
    const int unit = static_cast<int>(std::int64_t{i} * geometry.units() / count);
    if (!find_symbols(scratch, image, unit % geometry.units_x, unit / geometry.units_x)) continue;
    out.units.push_back({scratch.shape,
                         {scratch.block, scratch.block + scratch.shape.blocks()},
                         {scratch.value, scratch.value + scratch.values}});
  }
}

void fit_tables(Tables& out, std::span<const ImageSample> images) {
  out = {};
  std::vector<double> weight;
  for (const ImageSample& image : images)
    weight.push_back(1 / std::sqrt(1 + values_per_block(image)));
  Kinds kinds = sort_into_kinds(images, weight);
  bool grows = false;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const double bits = kinds.bits[i] + raw_bits(images[i]);
    if (images[i].file_bits == 0 || bits <= kGrowth * images[i].file_bits) continue;
    weight[i] *= kWeightOfGrowing;
    grows = true;
  }
  if (grows) kinds = sort_into_kinds(images, weight);
  const std::vector<int>& kind = kinds.of;
  std::vector<Statistics> statistics(kSets);
  for (std::size_t i = 0; i < images.size(); ++i) {
    for (const auto& unit : images[i].units)
      statistics[static_cast<std::size_t>(kind[i])].add(unit, weight[i]);
  }
  std::vector<Counts> contexts;
  for (int set = 0; set < kSets; ++set) {
    const Statistics& one = statistics[static_cast<std::size_t>(set)];
    for (const bool chroma : {false, true}) {
      set_table(out, start_table(set, chroma), fit_table(one.start[chroma]));
    }
    contexts.insert(contexts.end(), one.mask.begin(), one.mask.end());
    fit_rice(out.set[set], one);
  }
  std::vector<Counts> tables;
  const std::vector<int> number = join_contexts(contexts, tables);
  for (int t = 0; t < kMaskTables; ++t) {
    set_table(out, kStartTables + t, fit_table(tables[static_cast<std::size_t>(t)]));
  }
  for (int set = 0; set < kSets; ++set) {
    for (const bool chroma : {false, true}) {
      for (int octet = 0; octet < kOctets; ++octet) {
        for (int context = 0; context < kContexts; ++context) {
          const std::size_t at =
              static_cast<std::size_t>(set * kMaskContexts) + mask_context(chroma, octet, context);
          out.set[set].mask_table[chroma][octet][context] =
              static_cast<std::uint8_t>(kStartTables + number[at]);
        }
      }
    }
  }
}

int choose_set(const Coefficients& image, const Tables& tables, UnitSymbols& scratch) {
  const Geometry& geometry = image.geometry;
  float bits[kSets] = {};
  const int count = std::min(kUnitsToJudge, geometry.units());
  for (int i = 0; i < count; ++i) {
    const int unit = static_cast<int>(std::int64_t{i} * geometry.units() / count);
    if (!find_symbols(scratch, image, unit % geometry.units_x, unit / geometry.units_x)) continue;
    for (int set = 0; set < kSets; ++set) bits[set] += cost_of(scratch, tables, set);
  }
  return static_cast<int>(std::min_element(bits, bits + kSets) - bits);
}

}  // namespace tundish::lanes
