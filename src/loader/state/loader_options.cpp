#include "loader/state/loader_options.h"

#include "augment/mixing.h"
#include "augment/transform.h"
#include "augment/transforms_json.h"
#include "base/machine/usable_cpus.h"

namespace tundish {

namespace {

constexpr std::size_t kMaxViews = 64;

void check_views(const LoaderOptions& options) {
  const Views views = options.all_views();
  if (!options.views.empty() && !options.transforms.list().empty()) {
    refuse_argument("", "views and transforms contradict each other: give one of them");
  }
  if (views.size() > kMaxViews) {
    refuse_argument("", fmt::format("views: at most {} lists, not {}", kMaxViews, views.size()));
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    check_transforms(views[i], options.mode);
    if (options.mode == ImageMode::i16 && mixing_of(views[i])) {
      refuse_argument("", "MixUp and CutMix are not offered with mode=\"I;16\"");
    }
    if (!options.views.empty() && mixing_of(views[i])) {
      refuse_argument("",
                      fmt::format("views[{}]: MixUp and CutMix mix batches of one view; use them "
                                  "in transforms, without views",
                                  i));
    }
    const bool crops = crops_of(views[i]) > 1;
    if (crops && views.size() > 1) {
      refuse_argument("", fmt::format("views[{}]: FiveCrop and TenCrop give several images "
                                      "already; use them in transforms, without views",
                                      i));
    }
    if ((crops || views.size() > 1) && largest_size(views[i]) == Size{}) {
      refuse_argument("", fmt::format("views[{}] must give every image the same size: end it with "
                                      "a crop or a resize to (height, width)",
                                      i));
    }
  }
}

// Refuses options that do not work with images as a list, or with the sizes of images.
void check_lists(const LoaderOptions& options) {
  const bool crops = crops_of(options.transforms) > 1;
  if (options.return_sizes && !options.views.empty()) {
    refuse_argument("", "return_sizes=True needs images of one view: leave out views");
  }
  if (options.images_as != ImagesAs::list) return;
  if (options.for_gpu) {
    refuse_argument(
        "",
        "images_as=\"list\" makes images on the CPU: leave out device, or use pad_to=(height, "
        "width), which gives one tensor");
  }
  if (!options.views.empty() || crops || mixing_of(options.transforms)) {
    refuse_argument("",
                    "images_as=\"list\" cannot have views, FiveCrop, TenCrop, MixUp or CutMix: use "
                    "images_as=\"tensor\"");
  }
  if (options.pin_memory || options.lends) {
    refuse_argument("", "images_as=\"list\" has no page-locked memory: leave out pin_memory");
  }
}

}  // namespace

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
  if (mode == ImageMode::i16 && for_gpu) {
    refuse(
        "mode=\"I;16\" is not offered with device=: leave device out, and move each batch to the "
        "GPU");
  }
  if (mode == ImageMode::rgba && for_gpu) {
    refuse(
        "mode=\"RGBA\" is not offered with device=: leave device out, and move each batch to the "
        "GPU");
  }
  if (cache != CacheKind::none && memory == 0) refuse("a cache needs memory=, its budget");
  check_views(*this);
  check_lists(*this);
}

LoaderOptions read_loader_options(const std::string& json) {
  LoaderOptions options;
  read_fields(options, parse_json(json), "");
  return options;
}

std::string transforms_text(const LoaderOptions& options) {
  return (options.views.empty() ? transforms_json(options.transforms) : json_of(options.views))
      .dump();
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
