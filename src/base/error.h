// Everything that can go wrong with data or with the machine, reported in four parts:
// what (the code's title), where (file, record, key, byte), why, and the fix.
//
// Leaf functions return a Fault. The caller that has the file and the record throws it as an Error.
// A bug is an assert; an invalid argument from the caller is ErrorCode::argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace tundish {

// The number is printed as TND-nnn. Its meaning never changes.
enum class ErrorCode : int {
  none = 0,
  // 1xx: the pack as a whole
  not_a_pack = 101,
  unknown_version = 102,
  head_damaged = 103,
  unknown_feature = 104,
  incomplete = 105,
  tail_damaged = 106,
  index_damaged = 107,
  metadata_damaged = 108,
  digest_differs = 109,
  manifest_damaged = 110,
  shard_differs = 111,
  nothing_salvaged = 112,
  // 2xx: one record
  no_such_record = 201,
  record_cut_off = 202,
  record_checksum = 203,
  padding_damaged = 204,
  name_unsafe = 205,
  // 3xx: sources
  source_missing = 301,
  source_empty = 302,
  source_unreadable = 303,
  source_unknown = 304,
  class_empty = 305,
  tar_damaged = 306,
  tar_duplicate = 307,
  csv_damaged = 308,
  no_random_access = 309,
  file_empty = 310,
  source_changed = 311,
  compression_damaged = 312,
  label_unreadable = 313,
  source_damaged = 314,
  format_unsupported = 315,
  format_not_built = 316,
  helper_failed = 317,
  field_unclear = 318,
  sample_raised = 319,
  sample_differs = 320,
  worker_ended = 321,
  nothing_chosen = 322,
  all_refused = 323,
  // 4xx: images
  not_an_image = 401,
  codec_unsupported = 402,
  image_header = 403,
  image_too_large = 404,
  image_damaged = 405,
  image_cut_off = 406,
  image_kind = 407,
  over_budget = 408,
  // 5xx: the machine
  io_read = 501,
  io_write = 502,
  disk_full = 503,
  no_permission = 504,
  no_memory = 505,
  output_exists = 506,
  interrupted = 507,
  thread_stuck = 508,
  gpu = 509,
  output_busy = 510,
  // 6xx: wrong use of the interface
  argument = 601,
  unequal_sizes = 602,
  wrong_state = 603,
  used_after_fork = 604,
  too_many_bad = 605,
  closed = 606,
  budget_too_small = 607,
};

// One row of the table behind `tundish explain`.
struct ErrorEntry {
  ErrorCode code;
  const char* title;        // one clause, lower case: "fails its checksum"
  const char* explanation;  // one or two sentences: the meaning and the likely cause
  const char* remedy;       // the fix; "{file}" is replaced by the file's name
};

std::span<const ErrorEntry> error_table();
const ErrorEntry* find_error(ErrorCode code);  // nullptr if the code does not exist

// Formats the code: "TND-203".
std::string error_name(ErrorCode code);

// An error found by a leaf function, which has no file name to report.
struct Fault {
  ErrorCode code = ErrorCode::none;
  std::string reason;        // includes the values: "stored 9a1c77e0, read 0b52d1c4"
  std::uint64_t offset = 0;  // bytes from the start of the parsed data
};

struct Where {
  std::string file = {};
  std::optional<std::uint64_t> record = {};
  std::string key = {};  // the sample's name in the dataset
  std::optional<std::uint64_t> offset = {};
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, Where where, std::string reason);
  Error(const Fault& fault, Where where);  // adds the fault's offset to where.offset

  ErrorCode code() const { return code_; }
  const Where& where() const { return where_; }
  const std::string& reason() const { return reason_; }

 private:
  ErrorCode code_;
  Where where_;
  std::string reason_;
};

// A single sample is bad. A loader applies its error policy to this error.
class SampleError : public Error {
 public:
  using Error::Error;
};

// Formats with thousands separators: 81233 -> "81,233".
std::string with_commas(std::uint64_t value);

// Returns a file name as readable text, with invalid UTF-8 and control characters as \xNN.
std::string printable(const std::string& name);

}  // namespace tundish
