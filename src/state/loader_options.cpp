#include "state/loader_options.h"

#include "augment/transforms_json.h"
#include "core/machine/usable_cpus.h"

namespace tundish {

void LoaderOptions::check() const {
  const auto refuse = [](const std::string& text) { refuse_argument("", text); };
  if (rank >= world_size) {
    refuse(fmt::format("rank {} does not exist in a world of {}", rank, world_size));
  }
  if (on_error == OnError::fail && max_bad) {
    refuse("max_bad has no meaning with on_error=\"fail\": the first bad one raises");
  }
  if (!for_gpu && (resident || decode == DecodeOn::gpu)) {
    refuse("decode=\"gpu\" and resident=True need device=\"cuda\"");
  }
  if (resident && decode == DecodeOn::cpu) {
    refuse("resident=True contradicts decode=\"cpu\": the GPU decodes what it keeps");
  }
  if (cache != CacheKind::none && memory == 0) refuse("a cache needs memory=, its budget");
  check_transforms(transforms);
}

LoaderOptions read_loader_options(const std::string& json) {
  LoaderOptions options;
  read_fields(options, parse_json(json), "");
  return options;
}

void resolve_defaults(LoaderOptions& options) {
  if (!options.threads) options.threads = static_cast<int>(usable_cpus());
  if (!options.on_error) {
    options.on_error = options.world_size > 1 ? OnError::substitute : OnError::skip;
  }
  if (!options.uneven) {
    const bool random = options.shuffle || options.order.sampling == Sampling::weighted;
    options.uneven = random ? Uneven::pad : Uneven::exact;
  }
}

}  // namespace tundish
