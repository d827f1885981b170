#include "batch/watchdog.h"

#include <fmt/format.h>

namespace tundish {

std::string describe(const Doing& doing) {
  const Doing::Stage stage = doing.stage;
  if (stage != Doing::Stage::reading && stage != Doing::Stage::decoding) {
    return "between two records";
  }
  return fmt::format("{} record {}", stage == Doing::Stage::reading ? "reading" : "decoding",
                     with_commas(doing.sample));
}

std::vector<std::string> hanging(std::deque<Doing>& workers, const Source& source, int image_field,
                                 std::uint64_t now_ns, std::uint64_t limit_ns) {
  std::vector<std::string> out;
  for (Doing& doing : workers) {
    const Doing::Stage stage = doing.stage;
    if (stage != Doing::Stage::reading && stage != Doing::Stage::decoding) continue;
    const std::uint64_t since_ns = doing.since_ns;
    if (since_ns == doing.told_ns || now_ns < since_ns + limit_ns) continue;
    doing.told_ns = since_ns;
    Extent extent;
    const bool in_file = source.extent(doing.sample, image_field, extent);
    out.push_back(fmt::format("{} of {}{} for {} s", describe(doing),
                              printable(in_file ? extent.file : source.path()),
                              in_file ? " (at byte " + with_commas(extent.offset) + ")" : "",
                              (now_ns - since_ns) / 1'000'000'000));
  }
  return out;
}

}  // namespace tundish
