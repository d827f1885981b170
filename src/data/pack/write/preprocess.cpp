#include "data/pack/write/preprocess.h"

#include <fmt/format.h>

namespace tundish {

const char* preprocessed_name(Preprocessed what) {
  switch (what) {
    case Preprocessed::changed:
      return "changed";
    case Preprocessed::fits:
      return "fits already";
    case Preprocessed::smaller:
      return "smaller than asked";
    case Preprocessed::grows:
      return "would grow";
    case Preprocessed::turned:
      return "turned by EXIF";
    case Preprocessed::transparent:
      return "transparent";
    case Preprocessed::deep:
      return "16-bit gray";
    case Preprocessed::not_decodable:
      return "not decodable";
    case Preprocessed::damaged:
      return "damaged";
  }
  return "";
}

std::string preprocess_json(const Preprocessor& preprocessor, const PreprocessReport& report) {
  std::string kept;
  for (std::size_t i = 1; i < kPreprocessed; ++i) {
    if (report.images[i] == 0) continue;
    kept += fmt::format("{}\"{}\":{}", kept.empty() ? "" : ",",
                        preprocessed_name(static_cast<Preprocessed>(i)), report.images[i]);
  }
  return fmt::format(
      R"({{"bytes_after":{},"bytes_before":{},"changed":{},"kept":{{{}}},"options":{}}})",
      report.bytes_after, report.bytes_before, report.changed(), kept, preprocessor.options_json());
}

}  // namespace tundish
