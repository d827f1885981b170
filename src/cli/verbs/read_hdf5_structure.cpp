// A verb that is not in the help: describes an HDF5 file for the library (source/formats/hdf5.cpp),
// which starts it as a process of its own, because libhdf5 may crash on files made to do harm.
#include <sys/resource.h>

#include <algorithm>

#include "cli/verbs.h"
#include "core/machine/helper_process.h"

#ifdef TUNDISH_HDF5
#include "cli/hdf5_structure.h"
#endif

namespace tundish::cli {
namespace {

void limit(int resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, value);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

}  // namespace

int run_read_hdf5_structure(const Words& words, Shell& shell) {
  if (words.size() != 1) throw UsageError("one file is wanted");
  limit(RLIMIT_AS, 4ull << 30);
  limit(RLIMIT_CPU, 300);
  limit(RLIMIT_CORE, 0);
#ifdef TUNDISH_HDF5
  std::string out;
  const int code = describe_hdf5(out, words[0]);
  shell.print(out);
  return code;
#else
  shell.print("HDF5: this build has no libhdf5");
  return kHelperNotBuilt;
#endif
}

}  // namespace tundish::cli
