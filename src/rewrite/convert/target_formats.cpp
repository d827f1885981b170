// The table of output formats. A new format needs a row here and a file pair in formats/.
#include "rewrite/convert/target_formats.h"

#include <array>

#include "rewrite/convert/formats/writers.h"

namespace tundish {
namespace {

constexpr std::array kTargets = {
    TargetFormat{"folder", "a folder of files", false, true, make_folder_writer},
    TargetFormat{"tar", "a .tar archive as WebDataset reads it", true, false, make_tar_writer},
    TargetFormat{"tfrecord", "TFRecord files", true, false, make_tfrecord_writer},
    TargetFormat{"lmdb", "an LMDB data file", false, false, make_lmdb_writer},
    TargetFormat{"hdf5", "an HDF5 file", false, false, make_hdf5_writer},
    TargetFormat{"npy", "a folder of .npy files", false, false, make_npy_writer},
};

}  // namespace

std::span<const TargetFormat> target_formats() { return kTargets; }

const TargetFormat* find_target_format(const std::string& name) {
  for (const TargetFormat& format : kTargets) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::string target_format_names() {
  std::string out;
  for (const TargetFormat& format : kTargets) {
    out += (out.empty() ? "" : ", ") + std::string(format.name);
  }
  return out;
}

}  // namespace tundish
