#include "cli/samples/demo_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/arguments.h"

namespace tundish::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText =
    "This folder was made by `tundish demo`, which replaces photos/, files/, demo.tnd, demo.json\n"
    "and report.html in it when it runs again.\n";

}  // namespace

void take_demo_folder(const std::string& path) {
  const std::string marker = path + '/' + kDemoMarker;
  std::error_code failed;
  const auto check = [&](const char* doing) {
    if (!failed) return;
    throw Error(code_of_errno(failed.value(), true), {.file = path},
                fmt::format("{}: {}", doing, failed.message()));
  };
  fs::create_directories(path, failed);
  check("making the folder");
  if (fs::is_regular_file(marker, failed)) return;
  const bool empty = fs::is_empty(path, failed);
  check("listing the folder");
  if (!empty) {
    throw UsageError(
        fmt::format("{} holds files that no demo made, and the demo would replace some of them;\n"
                    "  give it a folder of its own: tundish demo --work NEW-FOLDER",
                    printable(path)));
  }
  std::ofstream out(marker);
  out << kText;
  if (!out.flush()) throw Error(ErrorCode::io_write, {.file = marker}, "");
}

}  // namespace tundish::cli
