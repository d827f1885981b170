#include "data/pack/write/provenance.h"

#include <fmt/format.h>

#include <algorithm>

namespace tundish {
namespace {

bool is_worth_telling(const LanesReport& report) {
  return report.images > 0 || std::any_of(std::begin(report.unfit), std::end(report.unfit),
                                          [](std::uint64_t n) { return n > 0; });
}

}  // namespace

std::string provenance_of_lanes(const LanesReport& report) {
  if (!is_worth_telling(report)) return "";
  std::string kept;
  for (std::size_t i = 1; i < lanes::kUnfits; ++i) {
    if (report.unfit[i] == 0) continue;
    kept += fmt::format("{}\"{}\":{}", kept.empty() ? "" : ",",
                        lanes::unfit_name(static_cast<lanes::Unfit>(i)), report.unfit[i]);
  }
  return fmt::format(
      R"({{"images":{},"jpeg_bytes":{},"kept":{{{}}},"record_bytes":{},"restore_bytes":{},"trained_on":{}}})",
      report.images, report.jpeg_bytes, kept, report.record_bytes, report.restore_bytes,
      report.trained_on);
}

}  // namespace tundish
