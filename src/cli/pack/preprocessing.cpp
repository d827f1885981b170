#include "cli/pack/preprocessing.h"

#include "cli/pack/preprocess_report.h"
#include "cli/pack/proof_report.h"

namespace tundish::cli {

Preprocessing::Preprocessing(const PreprocessArguments& arguments)
    : proves_(arguments.prove),
      proof_records_(arguments.prove_sample),
      options_(preprocess_options(arguments)) {
  if (options_) preprocessor_ = make_preprocessor(*options_);
}

void Preprocessing::check(const Source& source) const {
  if (!options_) return;
  if (source.schema().find(FieldType::image) < 0) {
    throw Error(ErrorCode::argument, {.file = source.path()},
                "--resize, --center-crop and --reencode are for images, and it has none");
  }
  if (proves_ && !source.random_access()) {
    throw Error(ErrorCode::no_random_access, {.file = source.path()},
                "--prove reads samples a second time");
  }
}

void Preprocessing::prove(const std::string& target, const std::shared_ptr<const Source>& source,
                          const PackReport& report) {
  if (proves_) proof_ = cli::prove(target, source, report, *options_, proof_records_, stop_flag());
}

void Preprocessing::add_to(Json& json, const PackReport& report) const {
  json["preprocess"] =
      preprocessor_ ? preprocess_report_json(*preprocessor_, report.preprocess) : Json();
  json["proof"] = proof_ ? proof_json(*proof_) : Json();
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
