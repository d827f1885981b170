#include "base/machine/cpu_list.h"

#include <algorithm>
#include <charconv>

#include "base/machine/text_file.h"

namespace tundish {
namespace {

// Parses a number at the start of the text and removes it from the text.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || value >= kMaxCpus) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view text) {
  text = trimmed(text);
  std::vector<bool> members(kMaxCpus);
  while (!text.empty()) {
    const std::optional<std::uint32_t> first = take_number(text);
    if (!first) return std::nullopt;
    std::uint32_t last = *first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      const std::optional<std::uint32_t> end = take_number(text);
      if (!end || *end < *first) return std::nullopt;
      last = *end;
    }
    std::fill(members.begin() + *first, members.begin() + last + 1, true);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  std::vector<std::uint32_t> out;
  for (std::uint32_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (members[cpu]) out.push_back(cpu);
  }
  return out;
}

std::size_t shared_cpus(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), [&](std::uint32_t cpu) {
    return std::binary_search(b.begin(), b.end(), cpu);
  }));
}

}  // namespace tundish
