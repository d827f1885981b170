// What sources of records share: counts, keys, labels and sizes out of a RecordIndex, and the
// stored bytes of one record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/formats/records/record_index.h"
#include "data/source/source.h"

namespace tundish {

// A fault (image_too_large) for a record that is longer than an image may be.
std::optional<Fault> check_record_size(std::uint64_t bytes);

class RecordSource : public Source, public FileTimes {
 public:
  std::uint64_t count() const override { return index_.size(); }
  SampleInfo info(std::uint64_t i) const override { return {.label = index_.labels[i]}; }
  std::string key(std::uint64_t i) const override;
  std::string path() const override { return data_path_; }
  std::uint64_t bytes(std::uint64_t i) const override { return index_.bytes[i]; }
  std::uint64_t memory() const override { return index_.memory(); }
  std::string file_times() const override;  // not of files beside it, such as lock.mdb
  // For one of very many files: it is opened for each record. Before the first read.
  void close_between_reads() { file_ = File(); }

 protected:
  explicit RecordSource(const std::string& file);

  const std::string& data_path() const { return data_path_; }
  Where place(std::uint64_t i) const;  // of record i in the data file

  // The stored bytes of record i, and `tail` bytes that follow. Throws SampleError.
  void read_stored(std::vector<std::byte>& out, std::uint64_t i, std::size_t tail = 0) const;

  // Throws SampleError where the index does not have the label of the record itself.
  void check_label(std::uint64_t i, std::int64_t label) const;

  // A thread keeps its buffer between samples, unless a sample was large.
  static void release_if_large(std::vector<std::byte>& buffer);

  File file_;  // closed: see close_between_reads()
  RecordIndex index_;
  std::string prefix_;  // of keys that are numbers

 private:
  std::string data_path_;
  std::uint64_t stamp_;  // of the data file when it was opened
};

}  // namespace tundish
