#include "batch/watchdog.h"

#include <fmt/format.h>

namespace tundish {

std::string describe(const Doing& doing, const Source& source, int image_field) {
  const Doing::Stage stage = doing.stage;
  if (stage != Doing::Stage::reading && stage != Doing::Stage::decoding) {
    return "between two records";
  }
  std::uint64_t record = doing.sample;
  const Source& part = source.part(record);
  Extent extent;
  const bool in_file = part.extent(record, image_field, extent);
  return fmt::format("{} record {} of {}{}",
                     stage == Doing::Stage::reading ? "reading" : "decoding", with_commas(record),
                     printable(in_file ? extent.file : part.path()),
                     in_file ? " (at byte " + with_commas(extent.offset) + ")" : "");
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
    out.push_back(fmt::format("{} for {} s", describe(doing, source, image_field),
                              (now_ns - since_ns) / 1'000'000'000));
  }
  return out;
}

}  // namespace tundish
