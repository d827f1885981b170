#include "rewrite/preprocess/options.h"

#include <fmt/format.h>

namespace tundish {

std::string size_text(Size size) { return fmt::format("{}x{}", size.width, size.height); }

std::string resize_text(const PreprocessOptions& options) {
  switch (options.resize) {
    case ResizeTo::none:
      return "";
    case ResizeTo::shortest:
      return fmt::format("shortest={}", options.side);
    case ResizeTo::longest:
      return fmt::format("longest={}", options.side);
    case ResizeTo::exact:
      return size_text(options.exact);
  }
  return "";
}

std::string reencode_text(const PreprocessOptions& options) {
  const char* word = words(Reencode{})[static_cast<std::size_t>(options.reencode)];
  if (options.reencode == Reencode::png || options.reencode == Reencode::raw) return word;
  return fmt::format("{}:q{}:{}", options.reencode == Reencode::automatic ? "auto" : word,
                     options.quality, options.chroma == lanes::Sampling::full ? 444 : 420);
}

std::string options_json(const PreprocessOptions& options) {
  using IfLarger = PreprocessOptions::IfLarger;
  const bool crops = options.center_crop != Size{};
  const char* if_larger = options.if_larger == IfLarger::keep      ? "keep"
                          : options.if_larger == IfLarger::replace ? "replace"
                                                                   : "auto";
  return fmt::format(
      R"({{"center_crop":{},"enlarge":{},"exif_orientation":"{}","if_larger":"{}",)"
      R"("interpolation":"{}","reencode":"{}","resize":{}}})",
      crops ? fmt::format("\"{}\"", size_text(options.center_crop)) : "null", options.enlarge,
      options.apply_orientation ? "apply" : "keep", if_larger,
      words(Filter{})[static_cast<std::size_t>(options.interpolation)], reencode_text(options),
      options.resize == ResizeTo::none ? "null" : fmt::format("\"{}\"", resize_text(options)));
}

}  // namespace tundish
