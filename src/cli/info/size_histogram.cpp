#include "cli/info/size_histogram.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tundish::cli {
namespace {

// Bin edges: 1, 2, 3, 4, 6, 8, 12, 16, ...
std::vector<SizeBin> all_bins() {
  std::vector<std::uint64_t> edges = {1};
  for (std::uint64_t power = 2; power <= UINT32_MAX; power *= 2) {
    edges.push_back(power);
    edges.push_back(power + power / 2);
  }
  std::vector<SizeBin> out;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::uint64_t end = i + 1 < edges.size() ? edges[i + 1] : std::uint64_t{UINT32_MAX} + 1;
    out.push_back({static_cast<std::uint32_t>(edges[i]), static_cast<std::uint32_t>(end - 1), 0});
  }
  return out;
}

}  // namespace

std::vector<SizeBin> size_histogram(const std::vector<std::uint32_t>& values) {
  std::vector<SizeBin> bins = all_bins();
  for (const std::uint32_t value : values) {
    if (value == 0) continue;
    const auto after =
        std::upper_bound(bins.begin(), bins.end(), value,
                         [](std::uint32_t v, const SizeBin& b) { return v < b.from; });
    ++std::prev(after)->count;
  }
  const auto used = [](const SizeBin& bin) { return bin.count > 0; };
  const auto first = std::find_if(bins.begin(), bins.end(), used);
  if (first == bins.end()) return {};
  const auto last = std::find_if(bins.rbegin(), bins.rend(), used).base();
  return {first, last};
}

std::string histogram_text(const std::vector<SizeBin>& bins, std::size_t columns) {
  std::uint64_t most = 1;
  for (const SizeBin& bin : bins) most = std::max(most, bin.count);
  std::string out;
  for (const SizeBin& bin : bins) {
    const double share = static_cast<double>(bin.count) / static_cast<double>(most);
    auto bar = static_cast<std::size_t>(share * static_cast<double>(columns));
    if (bin.count > 0) bar = std::max<std::size_t>(bar, 1);  // a nonempty bin always has a bar
    const std::string range = bin.from == bin.to ? fmt::format("{}", bin.from)
                                                 : fmt::format("{} to {}", bin.from, bin.to);
    std::string line =
        fmt::format("    {:>14} {:>12}  {}", range, with_commas(bin.count), std::string(bar, '#'));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace tundish::cli
