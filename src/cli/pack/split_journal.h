// Progress of a split: its finished parts, recorded in a hidden file beside them, so that the same
// command resumes after an interruption. Locked while the split runs. Not thread-safe.
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
  // `prefix` is the common prefix of the parts. Without `resume`, discards an earlier journal.
  // Throws Error(output_busy) while another process splits into the same parts.
  SplitJournal(const std::string& prefix, bool resume);
  ~SplitJournal();  // removes the journal if no part exists
  SplitJournal(const SplitJournal&) = delete;
  SplitJournal& operator=(const SplitJournal&) = delete;

  static bool exists(const std::string& prefix);

  // Resumes the earlier split with this identity, or starts over. Throws Error(output_exists) if
  // the earlier split had another identity and one of its parts exists.
  void begin(const PackIdentity& identity, const std::vector<std::string>& outputs);

  // Returns the report of a part that is finished and unchanged since; otherwise nothing.
  std::optional<PackReport> finished(std::size_t part) const;

  // Whether this split wrote the file of a part but was killed before it recorded the part: the
  // file did not exist before, and has the samples of the part.
  bool is_own(std::size_t part, const Source& samples) const;

  void add(std::size_t part, const PackReport& report);  // durable
  void remove();                                         // call when all parts are finished

 private:
  bool take_start(const PackIdentity& identity, std::string& why_not);

  OutputTarget target_;
  Journal journal_;
  std::vector<std::string> outputs_;
  std::vector<char> existed_;  // files from before the split, which are not its own
  std::vector<std::optional<PackReport>> reports_;
};

}  // namespace tundish::cli
