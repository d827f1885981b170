// The table of formats. A new format needs a row here and a file pair in formats/.
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "data/source/decompress.h"
#include "data/source/format.h"
#include "data/source/formats/chunked/hdf5.h"
#include "data/source/formats/chunked/n5.h"
#include "data/source/formats/chunked/zarr.h"
#include "data/source/formats/cifar.h"
#include "data/source/formats/cifar_pickle.h"
#include "data/source/formats/file_list.h"
#include "data/source/formats/idx.h"
#include "data/source/formats/image_folder.h"
#include "data/source/formats/npy_arrays.h"
#include "data/source/formats/npz.h"
#include "data/source/formats/pth/pth.h"
#include "data/source/formats/records/lmdb.h"
#include "data/source/formats/records/recordio.h"
#include "data/source/formats/records/tfrecord.h"
#include "data/source/formats/safetensors.h"
#include "data/source/formats/tar/tar.h"
#include "data/source/formats/tar/tar_folder.h"
#include "data/source/names.h"

namespace tundish {
namespace {

bool ends_with(const Probe& probe, std::string_view ending) {
  return !probe.is_folder && lower(probe.path).ends_with(ending);
}

// True for compressed files and archives. A folder matches if all files are archives.
bool looks_like_tar(const Probe& probe) {
  if (probe.is_folder) return is_tar_folder(probe.path);
  return sniff_compression(probe.first) != Compression::none ||
         is_tar_file(probe.first, probe.path);
}

bool looks_like_list(const Probe& probe) {
  return ends_with(probe, ".csv") || ends_with(probe, ".tsv");
}

bool looks_like_zarr(const Probe& probe) {
  return probe.has(".zarray") || probe.has(".zgroup") || probe.has("zarr.json");
}

// A user block of 512 bytes or a power-of-two multiple may precede it: open_hdf5() refuses that.
bool looks_like_hdf5(const Probe& probe) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (probe.text().starts_with(kSignature)) return true;
  if (!ends_with(probe, ".h5") && !ends_with(probe, ".hdf5")) return false;
  for (std::size_t at = 512; at < probe.text().size(); at *= 2) {
    if (probe.text().substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

constexpr std::array kFormats = {
    Format{"csv", "a .csv or .tsv list of files", looks_like_list, open_file_list, nullptr,
           FormatChoices::names},
    Format{"tfrecord", "TFRecord files of tf.train.Example", looks_like_tfrecord, open_tfrecord,
           open_tfrecords, FormatChoices::names},
    Format{"recordio", "an MXNet RecordIO file (.rec)", looks_like_recordio, open_recordio, nullptr,
           FormatChoices::names},
    Format{"lmdb", "an LMDB file of images or Caffe Datums", looks_like_lmdb, open_lmdb, nullptr,
           FormatChoices::names},
    Format{"npy", "a .npy file of N samples", looks_like_npy, open_npy},
    Format{"npz", "a .npz archive of arrays", looks_like_npz, open_npz},
    Format{"pth", "tensors that torch.save() wrote", looks_like_pth, open_pth},
    Format{"safetensors", "a .safetensors file", looks_like_safetensors, open_safetensors},
    Format{"idx", "MNIST and others in IDX files", looks_like_idx, open_idx},
    Format{"cifar", "CIFAR-10 or CIFAR-100, the binary version", looks_like_cifar, open_cifar,
           nullptr, FormatChoices::names},
    Format{"cifar-python", "CIFAR-10 or CIFAR-100, the Python version", looks_like_cifar_pickle,
           open_cifar_pickle, nullptr, FormatChoices::names},
    Format{"tar", "a .tar archive, also compressed, or a folder of them", looks_like_tar,
           [](const std::string& path, const SourceOptions&) { return open_tar(path); },
           [](const std::string& path, const std::vector<std::string>& files,
              const SourceOptions&) { return open_tars(path, files); },
           FormatChoices::none},
    Format{"hdf5", "an HDF5 file of arrays", looks_like_hdf5, open_hdf5},
    Format{"zarr", "a Zarr array or group, version 2 or 3", looks_like_zarr, open_zarr},
    Format{"n5", "an N5 array or group",
           [](const Probe& probe) { return probe.has("attributes.json"); }, open_n5},
    Format{"folder", "a folder FOLDER/CLASS/NAME.jpg",
           [](const Probe& probe) { return probe.is_folder; },
           [](const std::string& path, const SourceOptions&) { return open_image_folder(path); },
           nullptr, FormatChoices::none},
};

}  // namespace

bool Probe::has(const char* name) const {
  struct stat status;
  return is_folder && ::stat(join_path(path, name).c_str(), &status) == 0;
}

std::span<const Format> formats() { return kFormats; }

void refuse_ignored(const std::string& path, const char* about, FormatChoices choices,
                    const SourceOptions& options) {
  const bool names = choices != FormatChoices::none;
  const char* ignored = !options.image.empty() && !names                                ? "image"
                        : !options.label.empty() && !names                              ? "label"
                        : options.axis != 0 && choices != FormatChoices::names_and_axis ? "axis"
                                                                                        : nullptr;
  if (!ignored) return;
  throw Error(ErrorCode::argument, {.file = path},
              fmt::format("the {} cannot be chosen for {}; leave the option out", ignored, about));
}

const Format* find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::string format_names() {
  std::string out;
  for (const Format& format : kFormats) out += (out.empty() ? "" : ", ") + std::string(format.name);
  return out;
}

Fault damaged_source(const char* format, std::string reason, std::uint64_t offset) {
  return {ErrorCode::source_damaged, std::string(format) + ": " + reason, offset};
}

Fault unsupported_source(const char* format, std::string reason, std::uint64_t offset) {
  return {ErrorCode::format_unsupported, std::string(format) + ": " + reason, offset};
}

}  // namespace tundish
