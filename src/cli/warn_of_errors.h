// The first errors of many on stderr, and how many more there are.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/shell.h"
#include "core/error.h"

namespace tundish::cli {

inline void warn_of_errors(const std::vector<Error>& errors, const Shell& shell) {
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(errors.size(), kShown); ++i) shell.warn(errors[i].what());
  if (errors.size() <= kShown) return;
  shell.warn(fmt::format("and {} more", with_commas(errors.size() - kShown)));
}

}  // namespace tundish::cli
