// Hidden verb that describes an HDF5 file for the library (source/formats/hdf5.cpp). The library
// runs it as a separate process, because libhdf5 may crash on malicious files.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/machine/helper_process.h"
#include "cli/verbs.h"

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

// Scales time and memory limits with the file size, so that a small file cannot block its reader.
void limit_by_size(const std::string& path) {
  struct stat about{};
  const auto size =
      ::stat(path.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
  const std::uint64_t mebibytes = std::min<std::uint64_t>(size >> 20, 1 << 20);
  limit(RLIMIT_AS, std::min<std::uint64_t>((256ull + 64 * mebibytes) << 20, 4ull << 30));
  limit(RLIMIT_CPU, std::min<std::uint64_t>(1 + mebibytes, 300));
  limit(RLIMIT_CORE, 0);
}

}  // namespace

// `FILE compare` also compares with libhdf5's chunks, for tests; slow, so it has no limits.
int run_read_hdf5_structure(const Args& args, Shell& shell) {
  const bool compare = args.size() == 2 && args[1] == "compare";
  if (args.size() != 1 && !compare) throw UsageError("one file is wanted");
  if (!compare) limit_by_size(args[0]);
#ifdef TUNDISH_HDF5
  std::string out;
  const int code = describe_hdf5(out, args[0], compare);
  shell.print(out);
  return code;
#else
  shell.print("HDF5: this build has no libhdf5");
  return kHelperNotBuilt;
#endif
}

}  // namespace tundish::cli
