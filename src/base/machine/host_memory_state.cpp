#include "base/machine/host_memory_state.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

#include "base/machine/control_groups.h"
#include "base/machine/memory_limit.h"
#include "base/machine/text_file.h"

namespace tundish {
namespace {

// Version 1 writes a number near 2^63 for "no limit".
constexpr std::uint64_t kVersion1None = std::uint64_t{1} << 60;

std::uint64_t bytes_of(const std::string& meminfo, std::string_view name) {
  const std::uint64_t kib = number_of(meminfo, name).value_or(0);
  return kib > kNoMemoryLimit / 1024 ? 0 : kib * 1024;
}

void read_groups(HostMemoryState& out, const SystemRoots& roots) {
  for (const GroupFolder& group : group_folders("memory", roots.proc, roots.groups)) {
    const char* limit = group.version_2 ? "/memory.max" : "/memory.limit_in_bytes";
    const std::uint64_t bytes = number_in(group.path + limit).value_or(kNoMemoryLimit);
    if (bytes < kVersion1None) out.limit = std::min(out.limit, bytes);
    const char* events = group.version_2 ? "/memory.events" : "/memory.oom_control";
    const std::string text = read_text(group.path + events).value_or("");
    out.killed = std::max(out.killed, number_of(text, "oom_kill").value_or(0));
  }
}

// For "Max locked memory         8388608              8388608              bytes": the soft limit.
std::optional<std::uint64_t> soft_limit(const std::string& limits, std::string_view name) {
  const std::optional<std::string> values = value_of(limits, name);
  if (!values) return std::nullopt;
  if (values->starts_with("unlimited")) return kNoMemoryLimit;
  return parse_integer(*values);
}

}  // namespace

HostMemoryState read_host_memory(const SystemRoots& roots) {
  HostMemoryState out;
  const std::string meminfo = read_text(roots.proc + "/meminfo").value_or("");
  out.total = bytes_of(meminfo, "MemTotal:");
  out.available = bytes_of(meminfo, "MemAvailable:");
  out.swap_total = bytes_of(meminfo, "SwapTotal:");
  out.swap_free = std::min(out.swap_total, bytes_of(meminfo, "SwapFree:"));
  out.left = memory_left(roots.proc, roots.groups);
  read_groups(out, roots);
  struct statvfs shared{};
  if (::statvfs((roots.dev + "/shm").c_str(), &shared) == 0) {
    out.shared_bytes = std::uint64_t{shared.f_blocks} * shared.f_frsize;
    out.shared_free = std::uint64_t{shared.f_bavail} * shared.f_frsize;
  }
  const std::string limits = read_text(roots.proc + "/self/limits").value_or("");
  out.locked_limit = soft_limit(limits, "Max locked memory");
  out.open_files = soft_limit(limits, "Max open files");
  std::error_code fault;
  std::filesystem::directory_iterator devices(roots.sys + "/class/infiniband", fault);
  out.has_infiniband = !fault && devices != std::filesystem::directory_iterator{};
  return out;
}

}  // namespace tundish
