// Prints the first of many errors to stderr, and the number of the rest. With --quiet, prints only
// if the errors cause the nonzero exit code.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "cli/shell.h"

namespace tundish::cli {

inline void warn_of_errors(const std::vector<Error>& errors, bool is_failure, const Shell& shell) {
  constexpr std::size_t kShown = 10;
  const auto warn = is_failure ? &Shell::warn_of_failure : &Shell::warn;
  for (std::size_t i = 0; i < std::min(errors.size(), kShown); ++i) (shell.*warn)(errors[i].what());
  if (errors.size() <= kShown) return;
  (shell.*warn)(fmt::format("and {} more", with_commas(errors.size() - kShown)));
}

}  // namespace tundish::cli
