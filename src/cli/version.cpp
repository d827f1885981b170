// tundish --version: of the program and, with --json, of every library that is linked in.
#include "core/version.h"

#include <CLI/Version.hpp>

#include "cli/json.h"
#include "cli/verbs.h"
#include "core/linked_libraries.h"

namespace tundish::cli {

int run_version(const Words& words, Shell& shell) {
  bool json = false;
  for (const std::string& word : words) {
    if (word != "--json")
      throw UsageError("--version takes no word but --json: " + printable(word));
    json = true;
  }
  if (!json) {
    shell.print(std::string("tundish ") + version() + '\n');
    return kOk;
  }
  Json libraries = Json::object();
  for (const LinkedLibrary& library : linked_libraries())
    libraries[library.name] = library.version.empty() ? Json() : Json(library.version);
  libraries["CLI11"] = CLI11_VERSION;
  print_json(shell, {{"tundish", version()}, {"libraries", std::move(libraries)}});
  return kOk;
}

}  // namespace tundish::cli
