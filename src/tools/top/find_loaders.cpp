#include "tools/top/find_loaders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/machine/text_file.h"

namespace tundish {
namespace {

constexpr std::size_t kMaxLoaders = 1024;
constexpr int kAttempts = 5;  // to read a page while its loader is not writing

struct Closed {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, Closed>;

std::optional<std::uint32_t> number_of_entry(const dirent* entry) {
  const std::string_view name = entry->d_name;
  std::uint32_t number = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (fault != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// Matches "/memfd:tundish-loader (deleted)".
bool is_loader_page(int folder, const char* name) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlinkat(folder, name, target.data(), target.size());
  if (length <= 0) return false;
  const std::string_view text(target.data(), static_cast<std::size_t>(length));
  return text.starts_with("/memfd:") && text.substr(7).starts_with(kLoaderPageName);
}

std::string fd_folder(std::uint32_t process, const SystemRoots& roots) {
  return roots.proc + '/' + std::to_string(process) + "/fd";
}

// Reads one consistent page with pread, which cannot crash if the memory vanishes.
bool read_page(PublishedLoader& out, int descriptor) {
  std::array<std::byte, kLoaderPageBytes> page{};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::pread(descriptor, page.data(), page.size(), 0) != ssize_t{kLoaderPageBytes}) return false;
    if (parse_loader_page(out, page)) return false;
    std::array<std::byte, 8> after{};
    if (::pread(descriptor, after.data(), 8, loader_page::kSequence) != 8) return false;
    if (out.sequence % 2 == 0 && load<std::uint64_t>(after.data()) == out.sequence) return true;
  }
  return false;
}

// A forked child inherits its parent's descriptor, but only the publishing process counts. A
// process has one number in each of its PID namespaces.
bool publishes(std::uint32_t process, std::uint64_t published, const SystemRoots& roots) {
  if (published == process) return true;
  const std::string folder = roots.proc + '/' + std::to_string(process);
  const std::string status = read_text(folder + "/status").value_or("");
  const std::string numbers = value_of(status, "NSpid:").value_or("");
  const std::vector<std::string_view> words = words_of(numbers);
  return words.size() > 1 && parse_integer(words.back()) == published;
}

std::string command_of(std::uint32_t process, const SystemRoots& roots) {
  std::string text =
      read_text(roots.proc + '/' + std::to_string(process) + "/cmdline").value_or("");
  text.resize(std::min<std::size_t>(text.size(), 120));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

void find_in_process(std::vector<RunningLoader>& out, std::uint32_t process,
                     const SystemRoots& roots) {
  const Folder folder(::opendir(fd_folder(process, roots).c_str()));
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::optional<std::uint32_t> number = number_of_entry(entry);
    if (!number || !is_loader_page(::dirfd(folder.get()), entry->d_name)) continue;
    RunningLoader loader{.process = process, .descriptor = *number};
    if (out.size() == kMaxLoaders || !update_loader(loader, roots)) continue;
    loader.command = command_of(process, roots);
    out.push_back(std::move(loader));
  }
}

}  // namespace

bool update_loader(RunningLoader& loader, const SystemRoots& roots) {
  const std::string path =
      fd_folder(loader.process, roots) + '/' + std::to_string(loader.descriptor);
  if (!is_loader_page(AT_FDCWD, path.c_str())) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return false;
  const bool whole = read_page(loader.figures, descriptor);
  ::close(descriptor);
  return whole && publishes(loader.process, loader.figures.process, roots);
}

std::vector<RunningLoader> find_loaders(const SystemRoots& roots) {
  std::vector<RunningLoader> out;
  const Folder folder(::opendir(roots.proc.c_str()));
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (const auto process = number_of_entry(entry)) find_in_process(out, *process, roots);
  }
  std::sort(out.begin(), out.end(), [](const RunningLoader& a, const RunningLoader& b) {
    return std::pair(a.process, a.descriptor) < std::pair(b.process, b.descriptor);
  });
  return out;
}

}  // namespace tundish
