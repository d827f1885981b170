#include "cli/view/step_words.h"

#include <fmt/format.h>

namespace tundish::cli {
namespace {

std::string window_text(const Window& w) {
  return fmt::format("{}x{}+{}+{}", w.width, w.height, w.x, w.y);
}

// What a step does, word by word, without what it leaves as it is.
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

std::string text_of(const PixelStep& step) {
  std::string out = words(step.op)[static_cast<std::size_t>(step.op)];
  for (std::size_t i = 0; i < static_cast<std::size_t>(values_of(step.op)); ++i) {
    out += fmt::format(" {:g}", step.value[i]);
  }
  return out;
}

// What Erasure::window covers of the elements.
std::string text_of(const Erasure& erasure) { return "erase " + window_text(erasure.window); }

}  // namespace

std::vector<std::string> words_of_steps(const View& view) {
  std::vector<std::string> lines;
  Size input = view.image();
  for (const PlanStep& step : view.steps()) {
    if (const PixelStep* pixels = std::get_if<PixelStep>(&step)) {
      lines.push_back(text_of(*pixels));
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
