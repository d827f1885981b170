#include "cli/env/ask_torch.h"

#include "base/machine/helper_process.h"
#include "cli/python.h"

namespace tundish::cli {
namespace {

// Locates the package without importing it, because tundish imports torch.
constexpr const char* kScript = R"(import importlib.util, runpy
folder = importlib.util.find_spec("tundish").submodule_search_locations[0]
runpy.run_path(folder + "/diagnosis/environment/torch_versions.py", run_name="__main__"))";

}  // namespace

TorchVersions ask_torch(const Shell& shell) {
  for (const std::string& python : python_candidates(shell)) {
    try {
      // env searches the PATH, but would parse a path that contains "=" as a variable.
      const bool in_folder = python.find('/') != python.npos;
      std::vector<std::string> words = {"-c", code_outside_folder(kScript)};
      if (!in_folder) words.insert(words.begin(), python);
      const std::vector<std::byte> output = run_helper(
          in_folder ? python : "/usr/bin/env", words, python, {.seconds = 5, .max_output = 65'536});
      const auto* text = reinterpret_cast<const char*>(output.data());
      TorchVersions versions = parse_torch_versions({text, output.size()});
      if (!versions.python.empty()) return versions;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted) throw;
    }
  }
  return {};
}

}  // namespace tundish::cli
