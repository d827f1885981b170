#include "base/machine/host_counters.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/machine/control_groups.h"
#include "base/machine/text_file.h"
#include "base/machine/usable_cpus.h"

namespace tundish {
namespace {

constexpr std::uint64_t kVersion1None = std::uint64_t{1} << 60;  // written for "no limit"

std::uint64_t kib_of(const std::string& meminfo, std::string_view name) {
  const std::uint64_t kib = number_of(meminfo, name).value_or(0);
  return kib > ~std::uint64_t{0} / 1024 ? 0 : kib * 1024;
}

// Reads the group of this process: the last existing folder is the deepest one.
void read_group(GroupCounters& out, const SystemRoots& roots) {
  out.quota = cpu_quota(roots.proc, roots.groups);
  for (const char* controller : {"cpu", "cpuacct"}) {
    for (const GroupFolder& group : group_folders(controller, roots.proc, roots.groups)) {
      if (group.version_2) {
        const std::string stat = read_text(group.path + "/cpu.stat").value_or("");
        if (const auto us = number_of(stat, "usage_usec")) out.cpu_ns = *us * 1000;
      } else if (const auto ns = number_in(group.path + "/cpuacct.usage")) {
        out.cpu_ns = ns;
      }
    }
  }
  for (const GroupFolder& group : group_folders("memory", roots.proc, roots.groups)) {
    const bool second = group.version_2;
    const auto used =
        number_in(group.path + (second ? "/memory.current" : "/memory.usage_in_bytes"));
    const auto limit = number_in(group.path + (second ? "/memory.max" : "/memory.limit_in_bytes"));
    if (used) out.memory_used = used;
    if (!limit || *limit >= kVersion1None) continue;
    out.memory_limit = std::min(out.memory_limit.value_or(*limit), *limit);
  }
}

}  // namespace

std::optional<CpuTime> parse_cpu_time(std::string_view stat) {
  const std::optional<std::string> line = value_of(stat, "cpu");
  if (!line) return std::nullopt;
  const std::vector<std::string_view> words = words_of(*line);
  if (words.size() < 4) return std::nullopt;
  CpuTime out;
  // user nice system idle iowait irq softirq steal; user already includes guests.
  for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 8); ++i) {
    const std::optional<std::uint64_t> ticks = parse_integer(words[i]);
    if (!ticks || *ticks > ~std::uint64_t{0} / 16) return std::nullopt;
    out.all += *ticks;
    if (i == 3 || i == 4) out.idle += *ticks;
    if (i == 4) out.waiting = *ticks;
  }
  return out;
}

std::vector<DiskCounters> parse_disks(std::string_view diskstats) {
  std::vector<DiskCounters> out;
  for (const std::string_view line : lines_of(diskstats)) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 13 || out.size() == 256) continue;
    DiskCounters disk{.name = std::string(words[2].substr(0, 64))};
    const auto set = [&](std::uint64_t& value, std::size_t place) {
      value = parse_integer(words[place]).value_or(0);
    };
    set(disk.reads, 3);
    set(disk.read_sectors, 5);
    set(disk.writes, 7);
    set(disk.written_sectors, 9);
    set(disk.busy_ms, 12);
    out.push_back(std::move(disk));
  }
  return out;
}

HostCounters read_host_counters(const SystemRoots& roots) {
  HostCounters out;
  out.at_ns = now_ns();
  out.cpu = parse_cpu_time(read_text(roots.proc + "/stat").value_or(""));
  out.disks = parse_disks(read_text(roots.proc + "/diskstats").value_or(""));
  std::erase_if(out.disks, [&](const DiskCounters& disk) {
    // Partitions have no folder there. A name with a slash is not a disk.
    const bool plain = disk.name.find('/') == std::string::npos && !disk.name.starts_with('.');
    return disk.reads + disk.writes == 0 || disk.name.starts_with("loop") || !plain ||
           ::access((roots.sys + "/block/" + disk.name).c_str(), F_OK) != 0;
  });
  read_group(out.group, roots);
  const std::string meminfo = read_text(roots.proc + "/meminfo").value_or("");
  out.memory_total = kib_of(meminfo, "MemTotal:");
  out.memory_available = kib_of(meminfo, "MemAvailable:");
  out.page_cache = kib_of(meminfo, "Cached:");
  return out;
}

}  // namespace tundish
