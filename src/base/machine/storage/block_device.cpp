#include "base/machine/storage/block_device.h"

#include <filesystem>
#include <system_error>

#include "base/machine/text_file.h"

namespace tundish {
namespace {

namespace fs = std::filesystem;

std::string short_text(const fs::path& path) {
  const std::string text = read_text(path.string()).value_or("");
  return std::string(trimmed(text)).substr(0, 64);
}

// Returns the active choice: "mq-deadline" for "none [mq-deadline] kyber".
std::string chosen(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']', open);
  if (open == text.npos || close == text.npos) return {};
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

std::optional<BlockDevice> read_block_device(std::uint32_t major, std::uint32_t minor,
                                             const SystemRoots& roots) {
  std::error_code fault;
  const std::string link =
      roots.sys + "/dev/block/" + std::to_string(major) + ':' + std::to_string(minor);
  fs::path folder = fs::canonical(link, fault);
  if (fault) return std::nullopt;
  if (fs::exists(folder / "partition", fault)) folder = folder.parent_path();
  BlockDevice out;
  out.name = folder.filename().string();
  out.model = short_text(folder / "device" / "model");
  out.scheduler = chosen(short_text(folder / "queue" / "scheduler"));
  const auto rotational = number_in((folder / "queue" / "rotational").string());
  if (rotational) out.rotational = *rotational != 0;
  out.read_ahead_kib = number_in((folder / "queue" / "read_ahead_kb").string());
  return out;
}

}  // namespace tundish
