#include "data/pack/own_files.h"

#include <sys/stat.h>

#include <functional>

#include "base/interruption.h"
#include "data/pack/write/shard_names.h"
#include "data/source/unknown_count.h"

namespace tundish {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first, second;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// Calls visit(path) for the files of all joined sources, until it returns true.
bool visit_files(const Source& source, const std::function<bool(const std::string&)>& visit) {
  if (!count_known(source)) return false;  // samples of Python, which has no files
  const Source* last = nullptr;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    check_stop({});
    std::uint64_t number = i;
    const Source* part = &source.part(number);
    if (part == last) continue;
    last = part;
    if (visit(part->path())) return true;
  }
  return false;
}

bool is_shard_number(std::string_view text) {
  return text.size() >= 5 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::string find_own_file(const Source& source, const std::vector<std::string>& outputs) {
  std::string found;
  visit_files(source, [&](const std::string& path) {
    for (const std::string& output : outputs) {
      if (is_same_file(path, output)) found = output;
    }
    return !found.empty();
  });
  return found;
}

std::string find_own_shard(const Source& source, const std::string& target) {
  constexpr std::string_view kEnding = ".tnd";
  const std::string base = shard_base(target) + '-';
  const std::size_t slash = base.rfind('/') + 1;  // npos + 1 == 0
  const std::string folder = base.substr(0, slash), start = base.substr(slash);
  std::string found;
  visit_files(source, [&](const std::string& path) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (!name.starts_with(start) || !name.ends_with(kEnding)) return false;
    if (name.size() < start.size() + kEnding.size()) return false;
    const std::string_view number =
        name.substr(start.size(), name.size() - start.size() - kEnding.size());
    const std::string output = folder + std::string(name);
    if (is_shard_number(number) && is_same_file(path, output)) found = output;
    return !found.empty();
  });
  return found;
}

}  // namespace tundish
