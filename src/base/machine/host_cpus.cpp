#include "base/machine/host_cpus.h"

#include <algorithm>

#include "base/machine/control_groups.h"
#include "base/machine/cpu_list.h"
#include "base/machine/text_file.h"
#include "base/machine/usable_cpus.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxGovernors = 1024, kMaxNodes = 256;

std::vector<std::uint32_t> list_in(const std::string& path) {
  const std::optional<std::string> text = read_text(path);
  return text ? parse_cpu_list(*text).value_or(std::vector<std::uint32_t>{})
              : std::vector<std::uint32_t>{};
}

std::vector<std::uint32_t> list_of(const std::string& status, std::string_view name) {
  const std::optional<std::string> text = value_of(status, name);
  return text ? parse_cpu_list(*text).value_or(std::vector<std::uint32_t>{})
              : std::vector<std::uint32_t>{};
}

// Reads the most throttled group. Its ancestors share its quota or have quotas of their own.
void read_throttling(HostCpus& out, const SystemRoots& roots) {
  for (const GroupFolder& group : group_folders("cpu", roots.proc, roots.groups)) {
    const std::optional<std::string> text = read_text(group.path + "/cpu.stat");
    if (!text) continue;
    const std::uint64_t periods = number_of(*text, "nr_periods").value_or(0);
    const std::uint64_t throttled = number_of(*text, "nr_throttled").value_or(0);
    if (periods == 0 || throttled < out.throttled_periods) continue;
    out.quota_periods = periods;
    out.throttled_periods = std::min(throttled, periods);
  }
}

void read_governors(HostCpus& out, const SystemRoots& roots) {
  const std::size_t count = std::min(out.allowed.size(), kMaxGovernors);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string folder =
        roots.sys + "/devices/system/cpu/cpu" + std::to_string(out.allowed[i]) + "/cpufreq/";
    const std::optional<std::string> governor = read_text(folder + "scaling_governor");
    if (!governor || governor->size() > 64) continue;
    ++out.governors[std::string(trimmed(*governor))];
    if (!out.frequency_driver.empty()) continue;
    const std::optional<std::string> driver = read_text(folder + "scaling_driver");
    if (driver && driver->size() <= 64) out.frequency_driver = trimmed(*driver);
  }
}

void read_nodes(HostCpus& out, const SystemRoots& roots) {
  const std::string folder = roots.sys + "/devices/system/node/";
  for (const std::uint32_t number : list_in(folder + "online")) {
    if (out.nodes.size() == kMaxNodes) break;
    out.nodes.push_back(
        {.number = number, .cpus = list_in(folder + "node" + std::to_string(number) + "/cpulist")});
  }
}

}  // namespace

double HostCpus::usable() const {
  const auto count = static_cast<double>(allowed.empty() ? online.size() : allowed.size());
  return quota > 0 && (count == 0 || quota < count) ? quota : count;
}

HostCpus read_host_cpus(const SystemRoots& roots) {
  HostCpus out;
  out.online = list_in(roots.sys + "/devices/system/cpu/online");
  const std::string status = read_text(roots.proc + "/self/status").value_or("");
  out.allowed = list_of(status, "Cpus_allowed_list:");
  out.allowed_nodes = list_of(status, "Mems_allowed_list:");
  out.quota = cpu_quota(roots.proc, roots.groups);
  read_throttling(out, roots);
  const std::optional<std::string> load = read_text(roots.proc + "/loadavg");
  if (load) out.load = parse_decimal(*load).value_or(0);
  read_governors(out, roots);
  read_nodes(out, roots);
  return out;
}

}  // namespace tundish
