#include "cli/finding.h"

#include <fmt/format.h>

namespace tundish::cli {

std::string finding_line(const Error& error) {
  const Where& where = error.where();
  const ErrorEntry* entry = find_error(error.code());
  std::string out = error_name(error.code());
  if (where.record) out += fmt::format("  record {}", with_commas(*where.record));
  if (!where.key.empty()) out += fmt::format(" ({})", printable(where.key));
  out += fmt::format("{} {}", where.record ? "" : "  the file", entry ? entry->title : "is wrong");
  if (where.offset) out += fmt::format(" at byte {}", with_commas(*where.offset));
  if (!error.reason().empty()) out += ": " + error.reason();
  return out;
}

}  // namespace tundish::cli
