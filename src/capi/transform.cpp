// Transforms on one image in memory, without a loader.
#include "augment/cpu/layout.h"
#include "augment/cpu/plan_runner.h"
#include "augment/plan_json.h"
#include "augment/transforms_json.h"
#include "capi/call.h"
#include "tundish.h"

using namespace tundish;

namespace {

View plan_of(const Transforms& transforms, const tundish_draw& draw) {
  check_transforms(transforms);
  constexpr std::uint64_t kMax = 65'535;
  if (draw.width < 1 || draw.height < 1 || draw.width > kMax || draw.height > kMax) {
    refuse_argument("image", "must have 1 to 65535 pixels on each side");
  }
  const Size image{static_cast<int>(draw.width), static_cast<int>(draw.height)};
  if (draw.crop >= crops_of(transforms)) {
    refuse_argument("crop", fmt::format("must be below {}", crops_of(transforms)));
  }
  return plan_view(transforms, image,
                   {.seed = draw.seed,
                    .epoch = draw.epoch,
                    .sample = draw.sample,
                    .repeat = draw.repeat,
                    .view = static_cast<std::uint32_t>(draw.view)},
                   static_cast<std::uint32_t>(draw.crop));
}

}  // namespace

const char* tundish_plans(const char* transforms, const tundish_draw* draw, uint64_t count) try {
  const Transforms list = read_transforms(parse_json(transforms));
  const Json dtype = json_of_value(pixel_table(list).dtype);
  Json out = Json::array();
  tundish_draw one = *draw;
  for (uint64_t i = 0; i < count; ++i, ++one.sample) {
    Json plan = plan_json(plan_of(list, one));
    plan["dtype"] = dtype;
    out.push_back(std::move(plan));
  }
  return keep_text(out.dump());
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_transform(const char* transforms, const tundish_draw* draw, const uint8_t* rgb,
                          void* out, uint64_t bytes) try {
  const Transforms list = read_transforms(parse_json(transforms));
  const View view = plan_of(list, *draw);
  const PixelTable table = pixel_table(list);
  if (image_bytes(view.size(), table.dtype) != bytes) {
    refuse_argument("out", "has not the size of the result");
  }
  const Size image = view.image();
  const Strip strip{rgb, std::ptrdiff_t{3} * image.width, 0, 0, image.width, image.height};
  const Placement place = placement(static_cast<std::byte*>(out), view.size(), table.dtype, false);
  PlanRunner runner;
  runner.begin(view, table, place, CpuPart::all);
  if (runner.needed().width > 0 && runner.needed().height > 0) runner.sink().push(strip);
  (void)runner.finish();
  return 0;
} catch (...) {
  return failed(-1);
}
