// tundish --version: prints the version of the program and, with --json, of every linked library.
#include "base/version.h"

#include <CLI/Version.hpp>

#ifdef TUNDISH_HDF5
#include <H5public.h>
#endif

#include "base/libraries/linked_libraries.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace tundish::cli {

int run_version(const Args& args, Shell& shell) {
  bool json = false;
  for (const std::string& word : args) {
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
#ifdef TUNDISH_HDF5
  libraries["hdf5"] = std::to_string(H5_VERS_MAJOR) + '.' + std::to_string(H5_VERS_MINOR) + '.' +
                      std::to_string(H5_VERS_RELEASE);
#else
  libraries["hdf5"] = Json();  // reported as TND-316
#endif
  print_json(shell, {{"tundish", version()}, {"libraries", std::move(libraries)}});
  return kOk;
}

}  // namespace tundish::cli
