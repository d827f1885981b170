// What both JSON parsers promise: a value or an Error in a few words, within the memory that
// SECURITY.md allows, and values that come back from their own JSON unchanged.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>

#include "base/utf8.h"
#include "loader/state/loader_options.h"
#include "memory_meter.h"

namespace tundish {

inline void require(bool claim) {
  if (!claim) std::abort();
}

// Names of all options or transforms are the longest part of a message.
inline void check_error(const Error& error, ErrorCode code) {
  require(error.code() == code && !error.reason().empty() && error.reason().size() < 2'000);
  std::string_view rest = error.reason();
  while (!rest.empty()) {
    require(utf8_length(rest) > 0);
    rest.remove_prefix(utf8_length(rest));
  }
}

template <class Read>
std::optional<std::invoke_result_t<Read, const std::string&>> read_within_promise(
    const std::string& text, ErrorCode code, const Read& read) {
  constexpr std::size_t kMessages = 64 << 10;  // of errors, and what a parser holds at once
  const MemoryMeter meter(64 * text.size() + kMessages);
  try {
    return read(text);
  } catch (const Error& error) {
    check_error(error, code);
    return std::nullopt;
  }
}

inline void require_same(const LoaderOptions& a, const LoaderOptions& b) {
  require(a.transforms == b.transforms);
  require(json_of_all_fields(a).dump() == json_of_all_fields(b).dump());
}

}  // namespace tundish
