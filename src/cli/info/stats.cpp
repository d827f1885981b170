#include "cli/info/stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/error_lines.h"
#include "cli/info/size_histogram.h"
#include "cli/info/spread.h"
#include "cli/json.h"

namespace tundish::cli {
namespace {

constexpr std::size_t kShown = 10;  // bad images in text output; JSON lists all

struct Sizes {
  Spread width, height, shorter;
  std::vector<SizeBin> bins;             // by the shorter side
  const SizedImage* smallest = nullptr;  // by pixels; the first if several are equal
  const SizedImage* largest = nullptr;
};

Sizes sizes_of(const std::vector<SizedImage>& images) {
  Sizes out;
  if (images.empty()) return out;
  std::vector<std::uint32_t> widths, heights, shorter;
  for (const SizedImage& image : images) {
    widths.push_back(static_cast<std::uint32_t>(image.size.width));
    heights.push_back(static_cast<std::uint32_t>(image.size.height));
    shorter.push_back(std::min(widths.back(), heights.back()));
  }
  out.width = spread_of(widths);
  out.height = spread_of(heights);
  out.shorter = spread_of(shorter);
  out.bins = size_histogram(shorter);
  const auto fewer_pixels = [](const SizedImage& a, const SizedImage& b) {
    return std::int64_t{a.size.width} * a.size.height < std::int64_t{b.size.width} * b.size.height;
  };
  out.smallest = &*std::min_element(images.begin(), images.end(), fewer_pixels);
  out.largest = &*std::max_element(images.begin(), images.end(), fewer_pixels);
  return out;
}

// Formats one number per channel.
std::string channels_text(const std::array<double, 3>& values, bool gray) {
  if (gray) return fmt::format("{:.6g}", values[0]);
  return fmt::format("({:.6g}, {:.6g}, {:.6g})", values[0], values[1], values[2]);
}

template <class T>
Json channels_json(const std::array<T, 3>& values, bool gray) {
  return gray ? Json{values[0]} : Json(values);
}

// Returns an empty text if Normalize would divide by zero.
std::string normalize_text(const LevelSums& levels, bool gray) {
  const std::array<double, 3> std = levels.std();
  if (*std::min_element(std.begin(), std.end()) <= 0) return {};
  return fmt::format("T.Normalize(mean={}, std={})", channels_text(levels.mean(), gray),
                     channels_text(std, gray));
}

Json image_json(const SizedImage* image, const Source& source) {
  if (!image) return {};
  Json out = {{"record", image->record}};
  put_key(out, source.key_or_nothing(image->record));
  out["width"] = image->size.width;
  out["height"] = image->size.height;
  return out;
}

// Data for both output formats.
struct Report {
  const ImageStats& stats;
  const Source& source;
  const std::string& file;
  bool gray;
  double seconds;
};

void print_as_json(const Report& report, const Shell& shell) {
  const auto& [stats, source, file, gray, seconds] = report;
  const Sizes sizes = sizes_of(stats.images);
  const bool any = !stats.images.empty();
  const std::string normalize = normalize_text(stats.levels, gray);
  Json out;
  out["file"] = json_text(file);
  out["mode"] = gray ? "L" : "RGB";
  out["records"] = source.count();
  out["looked_at"] = stats.looked_at;
  out["images"] = stats.images.size();
  out["pixels"] = stats.levels.pixels;
  out["mean"] = any ? channels_json(stats.levels.mean(), gray) : Json();
  out["std"] = any ? channels_json(stats.levels.std(), gray) : Json();
  out["normalize"] = normalize.empty() ? Json() : Json(normalize);
  out["sum"] = channels_json(stats.levels.sum, gray);
  out["squares"] = channels_json(stats.levels.squares, gray);
  out["codecs"] = Json::object();
  for (const auto& [codec, count] : stats.codecs) out["codecs"][codec] = count;
  out["width"] = spread_json(sizes.width);
  out["height"] = spread_json(sizes.height);
  out["shorter_side"] = spread_json(sizes.shorter);
  if (any) {
    Json& bins = out["shorter_side"]["histogram"] = Json::array();
    for (const SizeBin& bin : sizes.bins) {
      bins.push_back({{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
    }
  }
  out["smallest"] = image_json(sizes.smallest, source);
  out["largest"] = image_json(sizes.largest, source);
  out["seconds"] = seconds;
  out["bad"] = Json::array();
  for (const Error& error : stats.bad) out["bad"].push_back(error_json(error));
  print_json(shell, out);
}

std::string image_text(const SizedImage& image, const Source& source) {
  return fmt::format("{}x{} ({})", image.size.width, image.size.height,
                     printable(source.key_or_nothing(image.record)));
}

std::string spread_text(const Spread& spread) {
  return fmt::format("{} to {}, median {}", spread.min, spread.max, spread.median);
}

void print_sizes(const ImageStats& stats, const Source& source, const Shell& shell) {
  const Sizes sizes = sizes_of(stats.images);
  shell.line("smallest", image_text(*sizes.smallest, source));
  shell.line("largest", image_text(*sizes.largest, source));
  shell.line("width", spread_text(sizes.width));
  shell.line("height", spread_text(sizes.height));
  shell.line("shorter", fmt::format("side: {}", spread_text(sizes.shorter)));
  if (!shell.quiet) shell.print(histogram_text(sizes.bins));
}

void print_bad(const ImageStats& stats, const Shell& shell) {
  if (stats.bad.empty()) return;
  shell.line("bad", fmt::format("{} of {}, left out", with_commas(stats.bad.size()),
                                with_commas(stats.looked_at)));
  if (shell.quiet) return;
  for (std::size_t i = 0; i < stats.bad.size() && i < kShown; ++i) {
    shell.print(fmt::format("    {}\n", finding_line(stats.bad[i])));
  }
  if (stats.bad.size() > kShown) {
    shell.print(
        fmt::format("    and {} more; --json lists all\n", with_commas(stats.bad.size() - kShown)));
  }
}

void print_text(const Report& report, const Shell& shell) {
  const auto& [stats, source, file, gray, seconds] = report;
  if (!shell.quiet) shell.print(printable(file) + '\n');
  std::string images = fmt::format("{} decoded", with_commas(stats.images.size()));
  if (stats.looked_at < source.count()) {
    images += fmt::format(", an evenly spaced part of {}", with_commas(source.count()));
  }
  for (const auto& [codec, count] : stats.codecs) {
    images += fmt::format(", {} {}", codec, with_commas(count));
  }
  shell.line("images", fmt::format("{} ({:.1f} s)", images, seconds));
  print_bad(stats, shell);
  if (stats.images.empty()) return;
  print_sizes(stats, source, shell);
  shell.line("mean", channels_text(stats.levels.mean(), gray));
  shell.line("std", channels_text(stats.levels.std(), gray));
  const std::string normalize = normalize_text(stats.levels, gray);
  shell.line("paste", normalize.empty() ? "nothing: a channel has one level only, and Normalize "
                                          "would divide by a std of 0"
                                        : normalize);
}

}  // namespace

int print_stats(const Source& source, const std::string& file, const StatsOptions& options,
                std::uint64_t begin_ns, const Shell& shell) {
  const ImageStats stats = collect_stats(source, options, shell);
  const double seconds = static_cast<double>(now_ns() - begin_ns) / 1e9;
  (shell.json ? print_as_json : print_text)({stats, source, file, options.gray, seconds}, shell);
  for (const std::string& text : source.warnings()) shell.warn(text);
  return stats.images.empty() ? kDamaged : kOk;
}

}  // namespace tundish::cli
