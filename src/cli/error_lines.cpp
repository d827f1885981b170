#include "cli/error_lines.h"

#include <fmt/format.h>

#include <algorithm>

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

void warn_of_errors(const std::vector<Error>& errors, bool is_failure, const Shell& shell) {
  constexpr std::size_t kShown = 10;
  const auto warn = is_failure ? &Shell::warn_of_failure : &Shell::warn;
  for (std::size_t i = 0; i < std::min(errors.size(), kShown); ++i) (shell.*warn)(errors[i].what());
  if (errors.size() <= kShown) return;
  (shell.*warn)(fmt::format("and {} more", with_commas(errors.size() - kShown)));
}

}  // namespace tundish::cli
