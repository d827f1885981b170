#include "cli/view/describe_step.h"

#include <fmt/format.h>

#include "cli/view/describe_affine.h"

namespace tundish::cli {
namespace {

std::string window_text(const Window& w) {
  return fmt::format("{}x{}+{}+{}", w.width, w.height, w.x, w.y);
}

// Describes each effect of a step, without parts that have no effect.
std::vector<std::string> texts_of(const ResizeStep& step, Size input) {
  std::vector<std::string> out;
  if (step.crop != Window{0, 0, input.width, input.height}) {
    out.push_back("crop " + window_text(step.crop));
  }
  if (resizes(step)) out.push_back(fmt::format("to {}x{}", step.size.width, step.size.height));
  if (step.keep != Window{0, 0, step.size.width, step.size.height}) {
    out.push_back("keep " + window_text(step.keep));
  }
  if (step.mirror_x) out.emplace_back("flip left-right");
  if (step.mirror_y) out.emplace_back("flip top-bottom");
  return out;
}

// Formats the numbers of operations that need a custom text; empty: numbers follow the name.
std::string numbers_text(const PixelStep& step) {
  const auto& v = step.value;
  const auto pair = [](double across, double down) {
    return across == down ? fmt::format("{:.3g}", across)
                          : fmt::format("{:.3g} x {:.3g}", across, down);
  };
  switch (step.op) {
    case PixelOp::gaussian_blur:
      return fmt::format("{}x{} sigma {}", v[0], v[1], pair(v[2], v[3]));
    case PixelOp::elastic:
      return fmt::format("alpha {} sigma {}", pair(v[0], v[1]), pair(v[2], v[3]));
    case PixelOp::noise:
      return fmt::format("mean {:.3g} sigma {:.3g}", v[0], v[1]);
    case PixelOp::erase:
      return window_text(step.window);
    case PixelOp::solarize_add:
      return fmt::format("{:.3g} below {:.3g}", v[0], v[1]);
    default:
      return "";
  }
}

// `input`: size of the image before the step.
std::vector<std::string> texts_of(const PixelStep& step, Size input) {
  if (step.op == PixelOp::affine || step.op == PixelOp::tensor_affine) {
    return describe_affine(step, input);
  }
  std::string out = words(step.op)[static_cast<std::size_t>(step.op)];
  if (const std::string numbers = numbers_text(step); !numbers.empty())
    return {out + ' ' + numbers};
  if (step.op == PixelOp::perspective) return {out};  // eight unreadable numbers
  for (std::size_t i = 0; i < static_cast<std::size_t>(values_of(step.op)); ++i) {
    out += fmt::format(" {:.3g}", step.value[i]);
  }
  return {out};
}

// Describes the region that Erasure::window covers.
std::string text_of(const Erasure& erasure) { return "erase " + window_text(erasure.window); }

}  // namespace

std::vector<std::string> describe_steps(const View& view) {
  std::vector<std::string> lines;
  Size input = view.image();
  for (const PlanStep& step : view.steps()) {
    if (const PixelStep* pixels = std::get_if<PixelStep>(&step)) {
      for (const std::string& text : texts_of(*pixels, input)) lines.push_back(text);
      if (pixels->size != Size{}) input = pixels->size;
      continue;
    }
    const ResizeStep& resize = std::get<ResizeStep>(step);
    for (const std::string& text : texts_of(resize, input)) lines.push_back(text);
    input = {resize.keep.width, resize.keep.height};
  }
  for (const Erasure& erasure : view.erasures()) lines.push_back(text_of(erasure));
  return lines;
}

}  // namespace tundish::cli
