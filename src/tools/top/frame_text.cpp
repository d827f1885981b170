#include "tools/top/frame_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace tundish {
namespace {

std::string size_text(double bytes) {
  if (bytes >= 1e12) return fmt::format("{:.1f} TB", bytes / 1e12);
  if (bytes >= 1e9) return fmt::format("{:.1f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.0f} MB", bytes / 1e6);
  return fmt::format("{:.0f} KB", bytes / 1e3);
}

std::string size_text(std::uint64_t bytes) { return size_text(static_cast<double>(bytes)); }

std::string count_text(double value) {
  return value < 10 ? fmt::format("{:.1f}", value)
                    : with_commas(static_cast<std::uint64_t>(std::min(value, 1e18) + 0.5));
}

std::string percent(double share) {
  return fmt::format("{:3.0f} %", 100 * std::clamp(share, 0.0, 1.0));
}

std::string bar(double share, const FrameStyle& style) {
  constexpr int kCells = 10;
  const int full = static_cast<int>(std::lround(kCells * std::clamp(share, 0.0, 1.0)));
  std::string out = "[";
  for (int i = 0; i < kCells; ++i) {
    out += i >= full ? (style.blocks ? "·" : " ") : (style.blocks ? "█" : "#");
  }
  return out + "]";
}

std::string gpu_line(const Gpu& gpu, const FrameStyle& style) {
  std::string out = fmt::format("gpu {:<2} {:<22}", gpu.number, printable(gpu.name).substr(0, 22));
  if (gpu.busy) out += fmt::format(" {} {:3} %", bar(*gpu.busy / 100.0, style), *gpu.busy);
  if (gpu.memory_used && gpu.memory_total) {
    out +=
        fmt::format("  memory {} of {}", size_text(*gpu.memory_used), size_text(*gpu.memory_total));
  }
  if (gpu.power) out += fmt::format("  {} W", *gpu.power / 1000);
  if (gpu.power_limit) out += fmt::format(" of {}", *gpu.power_limit / 1000);
  if (gpu.sm_clock) out += fmt::format("  {} MHz", *gpu.sm_clock);
  if (gpu.temperature) out += fmt::format("  {} C", *gpu.temperature);
  constexpr std::uint64_t kSlow = 0x8 | 0x20 | 0x40 | 0x80;  // all Slowdown bits but the power cap
  if (gpu.slowdown.value_or(0) & kSlow) out += "  THROTTLED";
  return out;
}

std::string cpu_line(const Snapshot& snapshot, const FrameStyle& style) {
  std::string out = "cpu   ";
  if (snapshot.cpu_busy) {
    out += fmt::format("{} {}", bar(*snapshot.cpu_busy, style), percent(*snapshot.cpu_busy));
    out += fmt::format(", {} idle for disks", percent(snapshot.cpu_waiting.value_or(0)));
  }
  const HostCounters& host = snapshot.host;
  if (host.memory_total > 0) {
    out +=
        fmt::format("  memory {} of {} available, page cache {}", size_text(host.memory_available),
                    size_text(host.memory_total), size_text(host.page_cache));
  }
  return out;
}

std::string group_line(const Snapshot& snapshot) {
  const GroupCounters& group = snapshot.host.group;
  std::string out = "group ";
  if (snapshot.group_cpus) out += fmt::format("{:.2f}", *snapshot.group_cpus);
  if (group.quota > 0) out += fmt::format(" of {:.4g}", group.quota);
  if (snapshot.group_cpus || group.quota > 0) out += " CPUs  ";
  if (group.memory_used) out += fmt::format("memory {}", size_text(*group.memory_used));
  if (group.memory_limit) out += fmt::format(" of {}", size_text(*group.memory_limit));
  return out;
}

std::string disk_line(const DiskRate& disk, const FrameStyle& style) {
  return fmt::format("disk  {:<12} {} {}  read {}/s in {} reads/s  write {}/s",
                     printable(disk.name).substr(0, 12), bar(disk.busy, style), percent(disk.busy),
                     size_text(disk.read_bytes), count_text(disk.reads),
                     size_text(disk.written_bytes));
}

// Keeps the end of a path, which is more informative than its start.
std::string tail_of(const std::string& text, std::size_t width) {
  std::string shown = printable(text);
  if (shown.size() <= width) return shown;
  shown.erase(0, shown.size() - (width - 2));
  while (!shown.empty() && (static_cast<unsigned char>(shown[0]) & 0xc0) == 0x80) shown.erase(0, 1);
  return ".." + shown;
}

std::string loader_line(const LoaderRate& rate) {
  const LoaderStats& stats = rate.loader.figures.stats;
  const LoaderProgress& progress = rate.loader.figures.progress;
  const bool cached = stats.cache_hits + stats.cache_misses > 0;
  std::string place = std::to_string(progress.epoch);
  if (progress.epoch_samples > 0) {
    place +=
        fmt::format(" {}", percent(double(progress.position) / double(progress.epoch_samples)));
  }
  if (progress.world_size > 1) place += fmt::format("  rank {}", progress.rank);
  if (rate.age_s > 5) place += fmt::format("  no batch for {:.0f} s", rate.age_s);
  return fmt::format("  {:<8} {:<26} {:>8} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6} {:>3} of {:<3} {}",
                     rate.loader.process, tail_of(rate.loader.figures.source, 26),
                     count_text(rate.samples), size_text(rate.bytes), percent(rate.waiting),
                     percent(rate.reading), percent(rate.decoding), percent(rate.augmenting),
                     cached ? percent(rate.hits) : "-", stats.ready_batches, stats.slots, place);
}

constexpr std::size_t kWaitAt = 57, kWaitWidth = 6;  // the column `wait`, in characters

std::string painted(const char* code, const std::string& text) {
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// Paints the first occurrence of `part`, if there is one.
void paint_part(std::string& line, const std::string& part, const char* code) {
  const std::size_t at = line.find(part);
  if (at != line.npos && !part.empty()) line.replace(at, part.size(), painted(code, part));
}

void paint_wait(std::string& line) {
  const std::size_t begin = cut_to_width(line, kWaitAt).size();
  const std::size_t end = cut_to_width(line, kWaitAt + kWaitWidth).size();
  const std::string cell = line.substr(begin, end - begin);
  const int share = std::atoi(cell.c_str());
  if (share >= 10) line.replace(begin, cell.size(), painted(share >= 50 ? "31" : "33", cell));
}

}  // namespace

std::string in_color(const std::string& line) {
  std::string out = line;
  if (out.starts_with("  process")) return painted("1", out);
  if (out.starts_with("  ")) {
    paint_part(out, "no batch for", "31");
    paint_wait(out);
    return out;
  }
  const std::size_t open = out.find('['), close = out.find(']');
  if (open != out.npos && close != out.npos && open < close) {
    const std::size_t full = out.find_first_of("\xc2 ", open);  // the first empty cell
    const std::size_t end = std::min(full, close);
    if (end > open + 1) {
      out.replace(open + 1, end - open - 1, painted("36", out.substr(open + 1, end - open - 1)));
    }
  }
  paint_part(out, "THROTTLED", "31");
  for (const char* name : {"gpu", "cpu", "group", "disk"}) {
    if (out.starts_with(name)) paint_part(out, name, "1");
  }
  return out;
}

std::string cut_to_width(const std::string& text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t characters = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && characters++ == width) break;
  }
  return text.substr(0, at);
}

std::vector<std::string> frame_lines(const Snapshot& snapshot, const FrameStyle& style) {
  std::vector<std::string> out;
  for (const Gpu& gpu : snapshot.gpus) out.push_back(gpu_line(gpu, style));
  out.push_back(cpu_line(snapshot, style));
  if (snapshot.group_cpus || snapshot.host.group.memory_used) out.push_back(group_line(snapshot));
  for (const DiskRate& disk : snapshot.disks) out.push_back(disk_line(disk, style));
  out.emplace_back();
  if (snapshot.loaders.empty()) {
    out.emplace_back("no loader of Tundish runs here, or none of this user's");
  } else {
    out.push_back(fmt::format("  {:<8} {:<26} {:>8} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6} {:>10} {}",
                              "process", "source", "images/s", "bytes/s", "wait", "read", "decode",
                              "augm.", "cache", "ready   ", "epoch"));
    for (const LoaderRate& rate : snapshot.loaders) out.push_back(loader_line(rate));
  }
  for (std::string& line : out) line = cut_to_width(line, style.width);
  return out;
}

}  // namespace tundish
