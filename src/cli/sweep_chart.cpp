// The chart of tundish bench load --sweep, as SVG.
#include <fmt/format.h>

#include <algorithm>

#include "cli/load_sweep.h"
#include "cli/text.h"

namespace tundish::cli {
namespace {

constexpr double kWidth = 760, kHeight = 360, kLeft = 80, kRight = 20, kTop = 48, kBottom = 48;
constexpr const char* kMeasured = "#c2410c";
constexpr const char* kPredicted = "#94a3b8";
constexpr const char* kText = "#1e293b";

// Maps threads and images per second to picture coordinates.
struct Scale {
  double most_threads, most_rate;

  double x(double threads) const {
    return kLeft + (kWidth - kLeft - kRight) * threads / most_threads;
  }
  double y(double rate) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * rate / most_rate;
  }
};

Scale scale_of(const Sweep& sweep) {
  Scale out{static_cast<double>(sweep.automatic.threads), sweep.best()};
  out.most_rate = std::max({out.most_rate, sweep.automatic.plain.median.images_per_second, 1.0});
  for (const SweepRow& row : sweep.rows) {
    out.most_threads = std::max(out.most_threads, static_cast<double>(row.threads));
    out.most_rate = std::max(out.most_rate, row.predicted);
  }
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}' fill='{}'>{}</text>\n", x, y,
                     anchor, kText, text);
}

template <class Rate>
std::string polyline(const Sweep& sweep, const Scale& scale, const char* style, const Rate& rate) {
  std::string points;
  for (const SweepRow& row : sweep.rows) {
    points += fmt::format("{:.1f},{:.1f} ", scale.x(row.threads), scale.y(rate(row)));
  }
  return fmt::format("<polyline points='{}' fill='none' {}/>\n", points, style);
}

}  // namespace

std::string sweep_svg(const Sweep& sweep) {
  const Scale scale = scale_of(sweep);
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:g} {1:g}' role='img' "
      "font-family='system-ui, DejaVu Sans, sans-serif' font-size='13'>\n"
      "<title>images per second by number of threads</title>\n"
      "<rect width='{0:g}' height='{1:g}' fill='#ffffff'/>\n",
      kWidth, kHeight);
  for (const double share : {0.0, 0.5, 1.0}) {
    const double y = scale.y(share * scale.most_rate);
    out +=
        fmt::format("<path d='M{:g} {:.1f}H{:g}' stroke='#e2e8f0'/>\n", kLeft, y, kWidth - kRight);
    out += label(kLeft - 8, y + 4, "end", rate_text(share * scale.most_rate));
  }
  for (const SweepRow& row : sweep.rows) {
    out +=
        label(scale.x(row.threads), kHeight - kBottom + 20, "middle", std::to_string(row.threads));
  }
  out += label(kWidth / 2, kHeight - 8, "middle", "threads");
  out +=
      polyline(sweep, scale, fmt::format("stroke='{}' stroke-dasharray='5 4'", kPredicted).c_str(),
               [](const SweepRow& row) { return row.predicted; });
  out += polyline(sweep, scale, fmt::format("stroke='{}' stroke-width='2'", kMeasured).c_str(),
                  [](const SweepRow& row) { return row.plain.median.images_per_second; });
  out += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='6' fill='{}'/>\n",
                     scale.x(sweep.automatic.threads),
                     scale.y(sweep.automatic.plain.median.images_per_second), kMeasured);
  out += label(kLeft, 24, "start",
               "images/s: measured (line), predicted from one thread (dashed), "
               "threads=&quot;auto&quot; (dot)");
  return out + "</svg>\n";
}

}  // namespace tundish::cli
