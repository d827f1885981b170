// Any bytes as the options of a loader: options that survive a round trip through JSON, or an Error
// with a short reason. Options that pass their check make plans.
// parser: src/loader/state/loader_options.* src/base/fields_json.* src/augment/transforms_json.*
#include "loader/state/loader_options.h"

#include "augment/transform.h"
#include "augment/transforms_json.h"
#include "json_round_trip.h"

namespace {

using namespace tundish;

// Either call may refuse what only the combined transforms reveal, but may throw nothing else.
void plan_some(const Transforms& transforms) {
  Size fixed;
  try {
    fixed = fixed_size(transforms, 0);
    (void)pixel_table(transforms);
  } catch (const Error& error) {
    check_error(error, ErrorCode::argument);
    return;
  }
  for (const Size image : {Size{1, 1}, Size{640, 480}, Size{65'535, 1}, Size{3, 2'000}}) {
    try {
      const View view = plan_view(transforms, image, {.seed = 1});
      require(view.size().width > 0 && view.size().height > 0);
      require(fixed == Size{} || view.size() == fixed);
    } catch (const Error& error) {
      check_error(error, ErrorCode::argument);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto options = read_within_promise(text, ErrorCode::argument, read_loader_options);
  if (!options) return 0;
  require_same(read_loader_options(json_of_fields(*options).dump()), *options);
  require_same(read_loader_options(json_of_all_fields(*options).dump()), *options);
  try {
    check_fields_of(*options, "");
  } catch (const Error& error) {
    check_error(error, ErrorCode::argument);
    return 0;
  }
  plan_some(options->transforms);
  return 0;
}
