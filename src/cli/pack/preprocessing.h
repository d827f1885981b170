// Preprocessing in one run of `tundish pack`: what was asked for, the proof, the report.
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

  // Throws Error when a proof was asked for that this source cannot give. Warns of arrays, such as
  // masks, that would no longer fit their images.
  void check(const Source& source, const Shell& shell);

  // nullptr: images stay as they are.
  const Preprocessor* preprocessor() const { return preprocessor_.get(); }

  // After packing; nothing unless it was asked for. Throws as prove() does.
  void prove(const std::string& target, const std::shared_ptr<const Source>& source,
             const PackReport& report);
  bool is_disproved() const { return proof_ && !proof_->different.empty(); }

  // The keys preprocess and proof, and the warning of check() in warnings.
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
