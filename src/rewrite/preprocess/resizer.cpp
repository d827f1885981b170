#include "rewrite/preprocess/resizer.h"

#include <algorithm>

#include "loader/sample/orientation.h"

namespace tundish {
namespace {

// Passes rows on without alpha, and detects transparent pixels.
class AlphaWatch : public StripSink {
 public:
  explicit AlphaWatch(StripSink& sink) : sink_(sink) {}
  void push(const Strip& strip) override {
    for (int row = 0; strip.alpha && row < strip.rows && !found_; ++row) {
      const std::uint8_t* from = strip.alpha + row * strip.alpha_stride;
      found_ = std::any_of(from, from + strip.width, [](std::uint8_t a) { return a != 255; });
    }
    Strip opaque = strip;
    opaque.alpha = nullptr;
    sink_.push(opaque);
  }
  bool found() const { return found_; }

 private:
  StripSink& sink_;
  bool found_ = false;
};

bool is_empty(const Window& window) { return window.width <= 0 || window.height <= 0; }

}  // namespace

bool is_gray(const RgbImage& pixels) {
  for (std::size_t i = 0; i + 2 < pixels.rgb.size(); i += 3) {
    if (pixels.rgb[i] != pixels.rgb[i + 1] || pixels.rgb[i] != pixels.rgb[i + 2]) return false;
  }
  return true;
}

std::optional<Fault> Resizer::run(RgbImage& out, Bytes image, const ImageHeader& given,
                                  std::uint8_t orientation, const Transforms& transforms,
                                  const Limits& limits) {
  ImageHeader header = given;
  header.keep_alpha = true;
  is_transparent_ = false;
  const Size stored{static_cast<int>(header.width), static_cast<int>(header.height)};
  const View view = plan_view(transforms, upright_size(stored, orientation), {});
  out.size = view.size();
  out.rgb.resize(std::size_t{3} * static_cast<std::size_t>(out.size.width) *
                 static_cast<std::size_t>(out.size.height));
  const Placement place{.base = reinterpret_cast<std::byte*>(out.rgb.data()),
                        .dy = std::ptrdiff_t{3} * out.size.width,
                        .dx = 3,
                        .dc = 1};
  runner_.begin(view, table_, place, CpuPart::all);
  const Window needed = runner_.needed();
  std::optional<Fault> fault;
  if (!is_empty(needed) && orientation == 1) {
    AlphaWatch watch(runner_.sink());
    fault = decode(watch, image, header, needed, decode_, limits);
    is_transparent_ = watch.found();
  } else if (!is_empty(needed)) {
    fault = decode_upright(upright_, image, header, orientation, decode_, limits);
    if (!fault) {
      const auto alpha = upright_.begin() + static_cast<std::ptrdiff_t>(upright_.size() / 4 * 3);
      is_transparent_ = std::any_of(alpha, upright_.end(), [](std::uint8_t a) { return a != 255; });
      runner_.sink().push(whole_strip(upright_, view.image()));
    }
  }
  if (fault) return fault;
  runner_.finish();
  return std::nullopt;
}

}  // namespace tundish
