#include "cli/pack/preprocessing.h"

#include <fmt/format.h>

#include "cli/pack/preprocess_report.h"
#include "cli/pack/proof_report.h"
#include "cli/text.h"
#include "data/source/label_vector.h"

namespace tundish::cli {
namespace {

// Returns the names of fields that may be masks, boxes or keypoints: "mask, box".
std::string array_fields(const Schema& schema) {
  std::string out;
  for (const Field& field : schema.fields) {
    const bool is_number = field.array && field.array->shape.empty();
    if (field.type != FieldType::array || is_number || field.name == kLabelVectorField) continue;
    out += (out.empty() ? "" : ", ") + printable(field.name);
  }
  return out;
}

}  // namespace

Preprocessing::Preprocessing(const PreprocessArguments& arguments)
    : proves_(arguments.prove),
      proof_records_(arguments.prove_samples),
      options_(preprocess_options(arguments)) {
  if (options_) preprocessor_ = make_preprocessor(*options_);
}

void Preprocessing::check(const Source& source, const Shell& shell) {
  if (!options_) return;
  if (source.schema().find(FieldType::image) < 0) {
    throw Error(ErrorCode::argument, {.file = source.path()},
                "--resize, --center-crop and --reencode are for images, and it has none");
  }
  if (proves_ && !source.random_access()) {
    throw Error(ErrorCode::no_random_access, {.file = source.path()},
                "--prove reads samples a second time");
  }
  const std::string names = array_fields(source.schema());
  if (names.empty() || !(options_->has_geometry() || options_->apply_orientation)) return;
  warning_ = fmt::format(
      "{}: images get another geometry, and these arrays stay as they are: {}; masks and boxes "
      "would no longer fit their images",
      printable(source.path()), names);
  shell.warn(warning_);
}

void Preprocessing::prove(const std::string& target, const std::shared_ptr<const Source>& source,
                          const PackReport& report) {
  if (proves_) proof_ = cli::prove(target, source, report, *options_, proof_records_, stop_flag());
}

void Preprocessing::add_to(Json& json, const PackReport& report) const {
  json["preprocess"] =
      preprocessor_ ? preprocess_report_json(*preprocessor_, report.preprocess) : Json();
  json["proof"] = proof_ ? proof_json(*proof_) : Json();
  if (!warning_.empty()) json["warnings"].push_back(json_text(warning_));
}

void Preprocessing::print(const PackReport& report, const Shell& shell) const {
  if (preprocessor_) shell.line("prepared", preprocess_text(report.preprocess));
  const auto grow = report.preprocess.images[static_cast<std::size_t>(Preprocessed::grows)];
  if (grow > 0) {
    shell.line("", "--if-larger replace stores new images also where they take more bytes");
  }
  if (proof_) print_proof(*proof_, shell);
}

}  // namespace tundish::cli
