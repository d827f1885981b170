// Preprocessing in one run of `tundish pack`: the options, the proof, the report.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/json.h"
#include "cli/pack/preprocess_arguments.h"
#include "cli/pack/prove.h"
#include "cli/shell.h"
#include "data/pack/write/writer.h"
#include "rewrite/preprocess/preprocessor.h"

namespace tundish::cli {

class Preprocessing {
 public:
  explicit Preprocessing(const PreprocessArguments& arguments);  // throws UsageError

  // Throws Error if a proof was requested that this source cannot support. Warns of arrays, such as
  // masks, that would no longer match their images.
  void check(const Source& source, const Shell& shell);

  // nullptr: images stay unchanged.
  const Preprocessor* preprocessor() const { return preprocessor_.get(); }

  // Call after packing. Does nothing unless a proof was requested. Throws the errors of prove().
  void prove(const std::string& target, const std::shared_ptr<const Source>& source,
             const PackReport& report);
  bool is_disproved() const { return proof_ && !proof_->different.empty(); }

  // Adds the keys preprocess and proof, and the warning of check() to warnings.
  void add_to(Json& json, const PackReport& report) const;
  void print(const PackReport& report, const Shell& shell) const;

 private:
  const bool proves_;
  const std::uint64_t proof_records_;
  const std::optional<PreprocessOptions> options_;
  std::unique_ptr<const Preprocessor> preprocessor_;
  std::string warning_;
  std::optional<Proof> proof_;
};

}  // namespace tundish::cli
