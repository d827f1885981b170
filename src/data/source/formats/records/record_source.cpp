#include "data/source/formats/records/record_source.h"

#include <fmt/format.h>

#include "codec/decode/decode.h"
#include "data/source/folder_entries.h"

namespace tundish {

std::optional<Fault> check_record_size(std::uint64_t bytes) {
  if (bytes <= Limits{}.max_bytes) return std::nullopt;
  return Fault{ErrorCode::image_too_large,
               fmt::format("{} bytes, at most {} are allowed", with_commas(bytes),
                           with_commas(Limits{}.max_bytes)),
               0};
}

RecordSource::RecordSource(const std::string& file)
    : file_(File::open(file)),
      data_path_(file),
      stamp_(content_stamp(file_)),
      written_(written_at(file_)) {}

std::string RecordSource::key(std::uint64_t i) const {
  if (index_.names.size() > 0) return std::string(index_.names[i]);
  return fmt::format("{}{:08}", prefix_, i);
}

std::string RecordSource::file_times() const { return fmt::format("{:016x}", stamp_); }

Where RecordSource::place(std::uint64_t i) const {
  return {.file = data_path(), .record = i, .key = key(i), .offset = index_.offsets[i]};
}

void RecordSource::read_stored(std::vector<std::byte>& out, std::uint64_t i,
                               std::size_t tail) const {
  if (const auto fault = check_record_size(index_.lengths[i])) throw SampleError(*fault, place(i));
  out.resize(index_.lengths[i] + tail);
  std::size_t got = 0;
  File own;
  try {
    const File& file = file_.is_open() ? file_ : own = File::open(data_path_);
    got = file.read_at(out, index_.offsets[i]);
    if (got == out.size()) check_unwritten(file, written_);
  } catch (const Error& error) {
    throw SampleError(error.code(), place(i), error.reason());
  }
  if (got < out.size()) {
    throw SampleError(ErrorCode::source_changed, place(i),
                      "the file became shorter after it was opened");
  }
}

void RecordSource::check_label(std::uint64_t i, std::int64_t label) const {
  if (label == index_.labels[i]) return;
  throw SampleError(
      ErrorCode::source_changed, place(i),
      fmt::format(
          "the label of the record is {}, and {} in the index: remove the hidden .tndx file "
          "beside the data, or in the folder tundish of the user's cache",
          label, index_.labels[i]));
}

void RecordSource::release_if_large(std::vector<std::byte>& buffer) {
  constexpr std::size_t kKept = 4 << 20;
  if (buffer.size() > kKept) buffer = {};
}

}  // namespace tundish
