#include "tools/environment/check_software.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/machine/nvml.h"

namespace tundish {
namespace {

// Parses "12.8" as 12080; returns 0 if the text is not a version.
int cuda_number(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  const auto [dot, fault] = std::from_chars(text.data(), end, major);
  if (fault != std::errc{} || major < 1 || major > 999) return 0;
  if (dot != end && *dot == '.') std::from_chars(dot + 1, end, minor);
  return minor < 0 || minor > 99 ? 0 : major * 1000 + minor * 10;
}

std::string cuda_text(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// Returns the install command of torch for the newest CUDA that this driver can run.
std::string torch_install(int driver_cuda) {
  constexpr std::array kBuilt = {11080, 12010, 12040, 12060, 12080, 12090, 13000};
  int best = kBuilt[0];
  for (const int built : kBuilt) {
    if (built <= driver_cuda) best = built;
  }
  return fmt::format(
      "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu{}{}",
      best / 1000, best % 1000 / 10);
}

Finding driver_finding(const DriverState& driver) {
  Finding out{.area = "software", .name = "NVIDIA driver"};
  out.values = {{"gpus", static_cast<double>(driver.gpus)}};
  if (!driver.has_library) {
    out.figure = "none";
    if (!driver.has_device) return out;
    out.level = Level::problem;
    out.reason = "there is a GPU, and libnvidia-ml.so.1 is not found";
    out.fix = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...";
    return out;
  }
  if (driver.fault != 0) {
    out.level = driver.fault == 9 && !driver.has_device ? Level::ok : Level::problem;
    out.figure = nvml_fault_text(driver.fault);
    if (out.level == Level::ok) return out;
    out.reason = fmt::format("no GPU can be used (NVML's error {})", driver.fault);
    out.fix = driver.fault == 18  ? "sudo reboot, after the update of the driver"
              : driver.fault == 9 ? "sudo modprobe nvidia"
                                  : "nvidia-smi, and the end of sudo dmesg";
    return out;
  }
  out.figure = fmt::format(
      "{}, for CUDA {}, {} GPU{}", driver.version.empty() ? "version not known" : driver.version,
      driver.cuda > 0 ? cuda_text(driver.cuda) : "?", driver.gpus, driver.gpus == 1 ? "" : "s");
  if (driver.gpus > 0) return out;
  out.level = Level::problem;
  out.reason = "the driver is there and shows no GPU";
  out.fix = "docker run --gpus all ..., or sudo dmesg | grep -i nvrm";
  return out;
}

Finding torch_finding(const DriverState& driver, const TorchVersions& torch) {
  Finding out{.area = "software", .name = "torch"};
  if (torch.torch.empty()) {
    out.figure =
        torch.python.empty() ? "no Python was found" : "not installed for Python " + torch.python;
    return out;
  }
  out.figure = fmt::format("{}, {}", torch.torch,
                           torch.amd            ? "for AMD's GPUs"
                           : torch.cuda.empty() ? "without CUDA"
                                                : "CUDA " + torch.cuda);
  if (driver.gpus == 0 || torch.amd) return out;
  if (torch.cuda.empty()) {
    out.level = Level::problem;
    out.reason = "this torch cannot use the GPU";
    out.fix = torch_install(driver.cuda);
    return out;
  }
  const int wanted = cuda_number(torch.cuda);
  out.values = {{"torch_cuda", wanted / 1000.0}, {"driver_cuda", driver.cuda / 1000.0}};
  if (wanted == 0 || driver.cuda == 0 || wanted <= driver.cuda) return out;
  const bool other_major = wanted / 1000 > driver.cuda / 1000;
  out.level = other_major ? Level::problem : Level::warning;
  out.reason = other_major
                   ? fmt::format("the driver runs CUDA {} and older", cuda_text(driver.cuda))
                   : fmt::format(
                         "the driver is made for CUDA {}: kernels that are compiled "
                         "at run time may fail",
                         cuda_text(driver.cuda));
  out.fix = torch_install(driver.cuda) + ", or a newer driver";
  return out;
}

Finding packages_finding(const TorchVersions& torch) {
  Finding out{.area = "software", .name = "cuDNN"};
  out.figure = torch.cudnn.empty() ? "torch's own" : torch.cudnn;
  if (torch.wrong.empty()) return out;
  out.level = Level::problem;
  out.name = "cuDNN and CUDA";
  std::string command = "pip install";
  out.reason = "not what this torch was built with:";
  for (const WrongVersion& one : torch.wrong) {
    out.reason += fmt::format(" {} {} (wants {})", one.package,
                              one.installed.empty() ? "is missing" : one.installed, one.wanted);
    command += fmt::format(" {}=={}", one.package, one.wanted);
  }
  out.fix = command;
  return out;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return {};
  const std::string text = at->get<std::string>().substr(0, 64);
  // The text is printed, and may become part of a command.
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789.+-_") == text.npos;
  return plain ? text : std::string();
}

}  // namespace

TorchVersions parse_torch_versions(std::string_view json) {
  TorchVersions out;
  if (json.size() > 65'536) return out;  // the script writes a few hundred bytes
  const nlohmann::json all = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
  if (!all.is_object()) return out;
  out.python = text_at(all, "python");
  out.torch = text_at(all, "torch");
  out.cuda = text_at(all, "cuda");
  out.cudnn = text_at(all, "cudnn");
  out.amd = !text_at(all, "hip").empty();
  const auto wrong = all.find("wrong");
  if (wrong == all.end() || !wrong->is_array()) return out;
  for (const nlohmann::json& one : *wrong) {
    if (!one.is_object() || out.wrong.size() == 64) continue;
    WrongVersion row{text_at(one, "package"), text_at(one, "wanted"), text_at(one, "installed")};
    if (!row.package.empty() && !row.wanted.empty()) out.wrong.push_back(std::move(row));
  }
  return out;
}

Findings check_software(const DriverState& driver, const TorchVersions& torch) {
  Findings out = {driver_finding(driver), torch_finding(driver, torch)};
  if (!torch.cuda.empty()) out.push_back(packages_finding(torch));
  return out;
}

}  // namespace tundish
