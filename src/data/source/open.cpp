#include "data/source/open.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "data/source/format.h"
#include "data/source/names.h"
#include "data/source/views/address.h"
#include "data/source/views/opened_with.h"
#include "data/source/views/pattern.h"

namespace tundish {

namespace {

const Format& named_format(const std::string& path, const std::string& name) {
  if (const Format* format = find_format(name)) return *format;
  throw Error(
      ErrorCode::argument, {.file = path},
      fmt::format("no format is called '{}'; there are: {}", printable(name), format_names()));
}

// Formats detected by their first bytes alone, with the usual names of their files.
struct UsualName {
  std::string_view part;  // part of the name, in lower case
  bool is_ending;
  const char* format;
  const char* begins;
};
constexpr std::array kUsualNames = {
    UsualName{".npy", true, "NumPy's .npy", "93 4e 55 4d 50 59"},
    UsualName{".npz", true, "NumPy's .npz", "50 4b 03 04, a zip archive of 30 bytes or more"},
    UsualName{".h5", true, "HDF5", "89 48 44 46 0d 0a 1a 0a"},
    UsualName{".hdf5", true, "HDF5", "89 48 44 46 0d 0a 1a 0a"},
    UsualName{".rec", true, "MXNet RecordIO", "0a 23 d7 ce"},
    UsualName{".mdb", true, "LMDB", "a page of LMDB's head"},
    UsualName{".tar", true, "tar", "the header of a member with its checksum"},
    UsualName{"tfrecord", false, "TFRecord", "the length of a record and the checksum of it"},
};

// Describes a file of unknown format as far as its name reveals the format; else empty.
std::string describe_unknown(const Probe& probe) {
  const std::string name = lower(probe.path.substr(probe.path.rfind('/') + 1));
  for (const UsualName& usual : kUsualNames) {
    if (usual.is_ending ? !name.ends_with(usual.part) : name.find(usual.part) == name.npos) {
      continue;
    }
    std::string found;
    for (const std::byte byte : probe.first.first(std::min<std::size_t>(8, probe.first.size()))) {
      found += fmt::format(" {:02x}", std::to_integer<int>(byte));
    }
    return fmt::format(
        "its name says {}, its first bytes do not: its {} bytes begin with{}; such a file begins "
        "with {}. It is damaged, or a file of another kind",
        usual.format, with_commas(probe.size), found, usual.begins);
  }
  return "";
}

const Format& format_of(const std::string& path, const struct stat& status) {
  std::vector<std::byte> first;
  Probe probe{.path = path, .is_folder = S_ISDIR(status.st_mode), .first = {}, .size = 0};
  if (S_ISREG(status.st_mode)) {
    first.resize(kProbeBytes);
    first.resize(File::open(path).read_at(first, 0));
    probe.first = first;
    probe.size = static_cast<std::uint64_t>(status.st_size);
  } else if (!probe.is_folder) {
    throw Error(ErrorCode::source_unknown, {.file = path}, "it is neither a file nor a folder");
  }
  for (const Format& format : formats()) {
    if (format.recognize(probe)) return format;
  }
  if (!probe.is_folder && probe.size == 0) throw Error(ErrorCode::file_empty, {.file = path}, "");
  throw Error(ErrorCode::source_unknown, {.file = path}, describe_unknown(probe));
}

const Format& format_for(const std::string& path, const SourceOptions& options) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    refuse_address(path);
    throw_errno(path, "stat", false);
  }
  return options.format.empty() ? format_of(path, status) : named_format(path, options.format);
}

// The format of the first file applies to all files.
std::shared_ptr<const Source> open_pattern(const std::string& path, const SourceOptions& options) {
  const std::vector<std::string> files = expand_pattern(path);
  const Format& format = format_for(files.front(), options);
  refuse_ignored(path, format.about, format.choices, options);
  if (files.size() == 1) return format.open(files.front(), options);
  if (format.open_files) return format.open_files(path, files, options);
  throw Error(unsupported_source(format.name,
                                 "several files are one dataset of .tar archives and "
                                 "TFRecord files only; give one, or pack each and "
                                 "tundish merge the packs"),
              {.file = path});
}

// Returns the requested format; empty if the first bytes give the same format.
std::string format_beyond_bytes(const std::string& path, const std::string& asked) {
  struct stat status;
  if (asked.empty() || ::stat(path.c_str(), &status) != 0) return asked;
  try {
    return format_of(path, status).name == asked ? "" : asked;
  } catch (const Error&) {  // the format is not detected, so it had to be requested
    return asked;
  }
}

}  // namespace

std::shared_ptr<const Source> open_loose(const std::string& path, const SourceOptions& options) {
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno == ENOENT && is_pattern(path)) {
    return opened_with(open_pattern(path, options), options,
                       format_beyond_bytes(expand_pattern(path).front(), options.format));
  }
  const Format& format = format_for(path, options);
  refuse_ignored(path, format.about, format.choices, options);
  return opened_with(format.open(path, options), options,
                     format_beyond_bytes(path, options.format));
}

}  // namespace tundish
