#include "data/source/formats/chunked/hdf5.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/machine/helper_process.h"
#include "codec/decode/decode.h"
#include "data/source/chunks/chunked_array.h"
#include "data/source/folder_entries.h"
#include "data/source/format.h"
#include "data/source/formats/chunked/chunked_array_source.h"
#include "data/source/formats/chunked/hdf5_heap.h"
#include "data/source/formats/chunked/hdf5_index.h"
#include "data/source/side_index.h"

namespace tundish {
namespace {

constexpr const char* kName = "HDF5";
constexpr const char* kIndexName = "hdf5";
constexpr std::uint32_t kIndexVersion = 5;

class Hdf5Loader : public ChunkLoader {
 public:
  Hdf5Loader(std::shared_ptr<const File> file, WrittenAt written, Hdf5Array array)
      : file_(std::move(file)),
        written_(written),
        array_(std::move(array)),
        counts_(chunk_counts(array_.grid)) {}

  void load(Chunk& out, std::span<const std::uint64_t> at) const override {
    out = {};
    std::uint64_t number = 0;
    for (std::size_t a = 0; a < at.size(); ++a) number = number * counts_[a] + at[a];
    const auto found = std::lower_bound(
        array_.chunks.begin(), array_.chunks.end(), number,
        [](const Hdf5Chunk& chunk, std::uint64_t wanted) { return chunk.number < wanted; });
    if (found == array_.chunks.end() || found->number != number) return;
    const std::uint64_t wanted = chunk_bytes(array_.grid);
    if (found->bytes > 2 * wanted + (1 << 20)) {
      fail(damaged_source(kName, "a chunk has too many bytes", 0), found->offset);
    }
    std::vector<ChunkStep> steps;
    if (const auto fault = hdf5_steps(steps, array_, found->mask)) fail(*fault, found->offset);
    std::vector<std::byte> stored(found->bytes);
    if (file_->read_at(stored, found->offset) != stored.size()) {
      throw Error(ErrorCode::source_changed, {.file = file_->path(), .offset = found->offset},
                  "the file became shorter after it was opened");
    }
    check_unwritten(*file_, written_);
    // The last rows of a block are missing if the file does not chunk the array.
    if (array_.filters.empty() && stored.size() < wanted) stored.resize(wanted);
    out.shape = array_.grid.chunk;
    out.bytes.resize(wanted);
    if (auto fault = undo_steps(out.bytes, stored, steps)) {
      out = {};
      fault->reason = fmt::format("{}: {}: {}", kName, printable(array_.name), fault->reason);
      fail(*fault, found->offset);
    }
  }

 private:
  [[noreturn]] void fail(const Fault& fault, std::uint64_t offset) const {
    throw Error(fault, {.file = file_->path(), .offset = offset});
  }

  std::shared_ptr<const File> file_;  // shared by all arrays of the file
  WrittenAt written_;
  Hdf5Array array_;
  std::vector<std::uint64_t> counts_;
};

// Replaces a 16-byte reference by the referenced bytes; none for an element that was never written.
void resolve(std::vector<std::byte>& bytes, const File& file, const WrittenAt& written) {
  const Hdf5Reference reference = load_hdf5_reference(bytes.data());
  bytes.clear();
  if (reference.bytes == 0) return;
  if (reference.bytes > Limits{}.max_bytes) {
    throw Error(ErrorCode::image_too_large, {.file = file.path()},
                fmt::format("{} bytes, at most {} are allowed", with_commas(reference.bytes),
                            with_commas(Limits{}.max_bytes)));
  }
  const auto read = [&](ByteSpan out, std::uint64_t at) {
    return file.read_at(out, at) == out.size();
  };
  std::uint64_t offset = 0;
  if (const auto fault = find_heap_object(offset, reference, file.size(), read)) {
    throw Error(*fault, {.file = file.path()});
  }
  bytes.resize(reference.bytes);
  if (!read(bytes, offset)) {
    throw Error(ErrorCode::source_changed, {.file = file.path(), .offset = offset},
                "the file became shorter after it was opened");
  }
  check_unwritten(file, written);
}

Hdf5Description describe(const std::string& path, std::uint64_t size) {
  const FileStamp stamp = stamp_of(path);
  Hdf5Description out;
  if (const auto kept = load_side_index(path, stamp, kIndexName, kIndexVersion)) {
    if (!read_hdf5_index(out, *kept, size)) return out;
  }
  const std::string program = helper_program();
  if (program.empty()) {
    throw Error(ErrorCode::helper_failed, {.file = path}, "the program tundish was not found");
  }
  const std::vector<std::byte> found = run_helper(program, {kHdf5Verb, path}, path);
  if (const auto fault = read_hdf5_index(out, found, size)) throw Error(*fault, {.file = path});
  save_side_index(path, stamp, kIndexName, kIndexVersion, found);
  return out;
}

// Values in other files are never read. Refuses the file if the user may expect such values.
std::vector<std::string> warnings_of(const std::vector<Hdf5Omission>& omissions,
                                     const std::string& path, const SourceOptions& options) {
  std::vector<std::string> warnings;
  const bool chosen = !options.image.empty() || !options.label.empty();
  for (const Hdf5Omission& omission : omissions) {
    const bool wanted = omission.name == options.image || omission.name == options.label;
    const std::string name = printable(omission.name);
    if (wanted || (omission.is_elsewhere && !chosen)) {
      throw Error(ErrorCode::format_unsupported, {.file = path},
                  fmt::format("{}: {}: {}{}", kName, name, omission.reason,
                              wanted ? "" : ", or choose the image and the label by name"));
    }
    warnings.push_back(fmt::format("array {} is left out: {}", name, omission.reason));
  }
  return warnings;
}

// Limits the number of samples in proportion to the bytes of the file, because samples are
// numbered and labels are read.
std::uint64_t most_samples(std::uint64_t file_size) {
  return std::clamp<std::uint64_t>(std::min(file_size, kMaxGridSamples) * 8, 1'000'000,
                                   kMaxGridSamples);
}

}  // namespace

std::shared_ptr<const Source> open_hdf5(const std::string& path, const SourceOptions& options) {
  const auto file = std::make_shared<const File>(File::open(path));
  const std::string times = fmt::format("{:016x}", content_stamp(*file));
  const WrittenAt written = written_at(*file);
  std::vector<NamedArray> arrays;
  Hdf5Description description = describe(path, file->size());
  const std::vector<std::string> warnings = warnings_of(description.omissions, path, options);
  for (Hdf5Array& array : description.arrays) {
    std::vector<ChunkStep> steps;  // refuse the filters here rather than at every sample
    if (const auto fault = hdf5_steps(steps, array, 0)) throw Error(*fault, {.file = path});
    const ChunkGrid grid = array.grid;
    const bool texts = array.kind == Hdf5Kind::texts;
    NamedArray named{.name = array.name,
                     .array = nullptr,
                     .names_classes = texts,
                     .max_samples = most_samples(file->size())};
    if (texts || array.kind == Hdf5Kind::references) {
      named.resolve = [file, written](std::vector<std::byte>& bytes) {
        resolve(bytes, *file, written);
      };
    }
    named.array = std::make_shared<ChunkedArray>(
        grid, std::make_unique<Hdf5Loader>(file, written, std::move(array)));
    arrays.push_back(std::move(named));
  }
  return open_chunked_arrays("hdf5", path, std::move(arrays), options, warnings, times);
}

}  // namespace tundish
