// Any bytes as the page of a loader: printable figures, or a fault within the page.
// parser: src/loader/monitor/loader_page.*
#include "loader/monitor/loader_page.h"

#include <cmath>
#include <cstdlib>

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tundish;
  PublishedLoader loader;
  if (const auto fault =
          parse_loader_page(loader, {reinterpret_cast<const std::byte*>(data), size})) {
    require(!fault->reason.empty() && fault->offset <= size);
    return 0;
  }
  require(size >= kLoaderPageBytes && loader.source.size() <= loader_page::kMaxSource);
  LoaderStats::fields(loader.stats, [](const FieldInfo&, const auto& value) {
    require(std::isfinite(double(value)) && double(value) >= 0);
  });
  return 0;
}
