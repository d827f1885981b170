#include "loader/monitor/loader_page.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace tundish {
namespace {

using namespace loader_page;

Fault fault(std::uint64_t offset, std::string reason) {
  return {.code = ErrorCode::source_damaged, .reason = std::move(reason), .offset = offset};
}

struct Figure {
  std::string_view name;
  char kind = 0;
  std::uint64_t value = 0;
};

// Returns the figures of a page whose header was checked.
std::vector<Figure> figures_of(Bytes page, std::size_t count) {
  std::vector<Figure> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = page.data() + kFigures + i * kFigureBytes;
    const auto* name = reinterpret_cast<const char*>(at);
    out.push_back({.name = {name, ::strnlen(name, kNameBytes)},
                   .kind = name[kNameBytes],
                   .value = load<std::uint64_t>(at + kNameBytes + 1)});
  }
  return out;
}

template <class Fields>
void set_fields(Fields& out, const std::vector<Figure>& figures) {
  Fields::fields(out, [&](const FieldInfo& info, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    constexpr char kKind = std::is_same_v<Value, double> ? 'd' : 'u';
    for (const Figure& figure : figures) {
      if (figure.name != info.name || figure.kind != kKind) continue;
      if constexpr (kKind == 'd') {
        const double number = std::bit_cast<double>(figure.value);
        value = std::isfinite(number) && number > 0 ? number : 0;
      } else {
        value = figure.value;
      }
      return;
    }
  });
}

}  // namespace

std::optional<Fault> parse_loader_page(PublishedLoader& out, Bytes page) {
  if (page.size() < kLoaderPageBytes) {
    return fault(page.size(),
                 fmt::format("{} bytes, a page has {}", page.size(), kLoaderPageBytes));
  }
  if (std::memcmp(page.data(), kLoaderPageMagic.data(), kLoaderPageMagic.size()) != 0) {
    return fault(0, "no magic of a loader's page");
  }
  const auto version = load<std::uint32_t>(page.data() + kVersion);
  if (version != 1)
    return fault(kVersion, fmt::format("version {}, this program reads 1", version));
  const auto count = load<std::uint32_t>(page.data() + kCount);
  if (count > kMaxFigures) return fault(kCount, fmt::format("{} figures", count));
  const auto source_bytes = load<std::uint32_t>(page.data() + kSourceBytes);
  if (source_bytes > kMaxSource) {
    return fault(kSourceBytes, fmt::format("a name of {} bytes", source_bytes));
  }
  out = {};
  out.process = load<std::uint64_t>(page.data() + kProcess);
  out.sequence = load<std::uint64_t>(page.data() + kSequence);
  out.source.assign(reinterpret_cast<const char*>(page.data()) + kSource, source_bytes);
  const std::vector<Figure> figures = figures_of(page, count);
  set_fields(out.stats, figures);
  set_fields(out.progress, figures);
  return std::nullopt;
}

}  // namespace tundish
