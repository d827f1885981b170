// Base of sources of records: counts, keys, labels and sizes from a RecordIndex, and access to the
// stored bytes of a record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/folder_entries.h"
#include "data/source/formats/records/record_index.h"
#include "data/source/source.h"

namespace tundish {

// Returns a fault (image_too_large) for a record that exceeds the size limit of images.
std::optional<Fault> check_record_size(std::uint64_t bytes);

class RecordSource : public Source, public FileTimes {
 public:
  std::uint64_t count() const override { return index_.size(); }
  SampleInfo info(std::uint64_t i) const override { return {.label = index_.labels[i]}; }
  std::string key(std::uint64_t i) const override;
  std::string path() const override { return data_path_; }
  std::uint64_t bytes(std::uint64_t i) const override { return index_.bytes[i]; }
  std::uint64_t memory() const override { return index_.memory(); }
  std::string file_times() const override;  // ignores files beside it, such as lock.mdb
  // For one of very many files: opens the file for each record. Must precede the first read.
  void close_between_reads() { file_ = File(); }

 protected:
  explicit RecordSource(const std::string& file);

  const std::string& data_path() const { return data_path_; }
  Where place(std::uint64_t i) const;  // place of record i in the data file

  // Reads the stored bytes of record i, and the `tail` bytes behind them. Throws SampleError.
  void read_stored(std::vector<std::byte>& out, std::uint64_t i, std::size_t tail = 0) const;

  // Throws SampleError if the label in the index differs from the label of the record.
  void check_label(std::uint64_t i, std::int64_t label) const;

  // Threads keep buffers between samples, except for large samples.
  static void release_if_large(std::vector<std::byte>& buffer);

  File file_;  // may be closed, see close_between_reads()
  RecordIndex index_;
  std::string prefix_;  // prefix of numeric keys

 private:
  std::string data_path_;
  std::uint64_t stamp_;  // stamp of the data file when it was opened
  WrittenAt written_;
};

}  // namespace tundish
