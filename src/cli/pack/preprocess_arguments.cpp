#include "cli/pack/preprocess_arguments.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace tundish::cli {
namespace {

constexpr int kLargestSide = 65'535;

// Parses the whole text as a number from 1 to `most`.
std::optional<int> number_in(std::string_view text, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || at != end || value < 1 || value > most) return std::nullopt;
  return value;
}

// Parses "320x240" as width and height.
std::optional<Size> size_in(std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto width = number_in(text.substr(0, cross), kLargestSide);
  const auto height = number_in(text.substr(cross + 1), kLargestSide);
  if (!width || !height) return std::nullopt;
  return Size{*width, *height};
}

[[noreturn]] void refuse(const char* option, const char* wanted, const std::string& text) {
  throw UsageError(fmt::format("{} wants {}, not '{}'", option, wanted, printable(text)));
}

void parse_resize(PreprocessOptions& out, const std::string& text) {
  constexpr std::string_view kShortest = "shortest=", kLongest = "longest=";
  std::optional<int> side;
  if (text.starts_with(kShortest)) {
    out.resize = ResizeTo::shortest;
    side = number_in(std::string_view(text).substr(kShortest.size()), kLargestSide);
  } else if (text.starts_with(kLongest)) {
    out.resize = ResizeTo::longest;
    side = number_in(std::string_view(text).substr(kLongest.size()), kLargestSide);
  } else if (const auto size = size_in(text)) {
    out.resize = ResizeTo::exact;
    out.exact = *size;
    return;
  }
  if (!side) {
    refuse("--resize", "shortest=N, longest=N or WIDTHxHEIGHT in pixels", text);
  }
  out.side = *side;
}

void parse_crop(PreprocessOptions& out, const std::string& text) {
  if (const auto size = size_in(text)) {
    out.center_crop = *size;
  } else if (const auto side = number_in(text, kLargestSide)) {
    out.center_crop = {*side, *side};
  } else {
    refuse("--center-crop", "N or WIDTHxHEIGHT in pixels", text);
  }
}

// Parses "jpeg", "jpeg:q90", "jpeg:q90:444", "png" or "raw".
void parse_reencode(PreprocessOptions& out, const std::string& text) {
  const auto wrong = [&] {
    refuse("--reencode", "jpeg:qN (N from 1 to 100, then :420 or :444), png or raw", text);
  };
  if (text == "png" || text == "raw") {
    out.reencode = text == "png" ? Reencode::png : Reencode::raw;
    return;
  }
  std::string_view rest = text;
  if (!rest.starts_with("jpeg")) wrong();
  rest.remove_prefix(4);
  out.reencode = Reencode::jpeg;
  if (rest.starts_with(":q")) {
    rest.remove_prefix(2);
    const std::string_view digits = rest.substr(0, rest.find(':'));
    const auto quality = number_in(digits, 100);
    if (!quality) wrong();
    out.quality = *quality;
    rest.remove_prefix(digits.size());
  }
  if (rest == ":444") {
    out.chroma = lanes::Sampling::full;
  } else if (!rest.empty() && rest != ":420") {
    wrong();
  }
}

template <class Word>
std::size_t choice(const char* option, const std::string& text, const Word& words) {
  for (std::size_t i = 0; i < std::size(words); ++i) {
    if (text == words[i]) return i;
  }
  throw UsageError(
      fmt::format("{} is one of {}, not '{}'", option, fmt::join(words, ", "), printable(text)));
}

}  // namespace

void add_preprocess_options(Arguments& arguments, PreprocessArguments& into) {
  arguments.option(into.resize, "--resize", "R", "images: shortest=N, longest=N or WxH pixels");
  arguments.option(into.center_crop, "--center-crop", "C", "images, after the resize: N or WxH");
  arguments.option(into.reencode, "--reencode", "E",
                   "images: jpeg:q90[:420|:444], png, raw (default: unchanged)");
  arguments.option(into.interpolation, "--interpolation", "I",
                   "filter of the resize: bilinear (default), bicubic, nearest");
  arguments.flag(into.enlarge, "--enlarge", "also enlarge images below the requested size");
  arguments.option(into.if_larger, "--if-larger", "X",
                   "if the image grows: keep (default, not for raw) or replace");
  arguments.option(into.exif_orientation, "--exif-orientation", "X",
                   "keep (default): leave rotated images; apply: rotate");
  arguments.flag(into.prove, "--prove", "compare records with the same work done while loading");
  arguments.option(into.prove_samples, "--prove-samples", "N", "records that are compared (100)", 1,
                   1'000'000'000);
}

std::optional<PreprocessOptions> preprocess_options(const PreprocessArguments& arguments) {
  constexpr const char* kIfLarger[] = {"auto", "keep", "replace"};
  constexpr const char* kOrientation[] = {"keep", "apply"};
  PreprocessOptions out;
  out.interpolation =
      static_cast<Filter>(choice("--interpolation", arguments.interpolation, words(Filter{})));
  out.if_larger = static_cast<PreprocessOptions::IfLarger>(
      choice("--if-larger", arguments.if_larger, kIfLarger));
  out.apply_orientation =
      choice("--exif-orientation", arguments.exif_orientation, kOrientation) == 1;
  out.enlarge = arguments.enlarge;
  if (!arguments.resize.empty()) parse_resize(out, arguments.resize);
  if (!arguments.center_crop.empty()) parse_crop(out, arguments.center_crop);
  if (!arguments.reencode.empty()) parse_reencode(out, arguments.reencode);
  if (out.has_geometry() || !arguments.reencode.empty()) return out;
  const bool has_more = arguments.enlarge || arguments.prove || out.apply_orientation ||
                        arguments.if_larger != "auto" || arguments.interpolation != "bilinear";
  if (has_more) {
    throw UsageError(
        "--interpolation, --enlarge, --if-larger, --exif-orientation and --prove need --resize, "
        "--center-crop or --reencode");
  }
  return std::nullopt;
}

}  // namespace tundish::cli
