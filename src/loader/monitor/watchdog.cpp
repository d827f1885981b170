#include "loader/monitor/watchdog.h"

#include <fmt/format.h>

namespace tundish {

std::string describe(const WorkerStatus& status, const Source& source, int image_field) {
  const WorkerStatus::Activity activity = status.activity;
  if (activity != WorkerStatus::Activity::reading && activity != WorkerStatus::Activity::decoding) {
    return "between two records";
  }
  std::uint64_t record = status.sample;
  const Source& part = source.part(record);
  Extent extent;
  const bool in_file = image_field >= 0 && part.extent(record, image_field, extent);
  return fmt::format("{} record {} of {}{}",
                     activity == WorkerStatus::Activity::reading ? "reading" : "decoding",
                     with_commas(record), printable(in_file ? extent.file : part.path()),
                     in_file ? " (at byte " + with_commas(extent.offset) + ")" : "");
}

std::vector<std::string> hanging(std::deque<WorkerStatus>& workers, const Source& source,
                                 int image_field, std::uint64_t now_ns, std::uint64_t limit_ns) {
  std::vector<std::string> out;
  for (WorkerStatus& status : workers) {
    const WorkerStatus::Activity activity = status.activity;
    if (activity != WorkerStatus::Activity::reading && activity != WorkerStatus::Activity::decoding)
      continue;
    const std::uint64_t since_ns = status.since_ns;
    if (since_ns == status.reported_ns || now_ns < since_ns + limit_ns) continue;
    status.reported_ns = since_ns;
    out.push_back(fmt::format("{} for {} s", describe(status, source, image_field),
                              (now_ns - since_ns) / 1'000'000'000));
  }
  return out;
}

}  // namespace tundish
