// How far a split came: its parts that are finished, in a hidden file beside them, so that the same
// command goes on after an interruption. Locked while the split runs. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/pack/output_target.h"
#include "data/pack/write/identity.h"
#include "data/pack/write/journal.h"
#include "data/pack/write/writer.h"

namespace tundish::cli {

class SplitJournal {
 public:
  // `prefix` of the parts. Without `resume` an earlier journal is dropped. Throws
  // Error(output_busy) while another process splits into the same parts.
  SplitJournal(const std::string& prefix, bool resume);
  ~SplitJournal();  // removes the journal when no part is there
  SplitJournal(const SplitJournal&) = delete;
  SplitJournal& operator=(const SplitJournal&) = delete;

  static bool exists(const std::string& prefix);

  // Takes over what the earlier split with this identity finished, or starts over. Throws
  // Error(output_exists) when the earlier split had another identity and one of its parts is there.
  void begin(const PackIdentity& identity, const std::vector<std::string>& outputs);

  // The report of a part that is finished and still the file that it was; otherwise empty.
  std::optional<PackReport> finished(std::size_t part) const;

  // Whether the file of a part is what the split was killed behind, before it could write that
  // down: it was not there before, and has the samples of the part.
  bool is_own(std::size_t part, const Source& samples) const;

  void add(std::size_t part, const PackReport& report);  // durable
  void remove();                                         // all parts are finished

 private:
  bool take_start(const PackIdentity& identity, std::string& why_not);

  OutputTarget target_;
  Journal journal_;
  std::vector<std::string> outputs_;
  std::vector<char> existed_;  // before the split: such a file is not its own
  std::vector<std::optional<PackReport>> reports_;
};

}  // namespace tundish::cli
