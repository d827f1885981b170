#include "rewrite/convert/formats/folder.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "rewrite/convert/list_csv.h"
#include "rewrite/convert/output_folder.h"
#include "rewrite/convert/sample_files.h"

namespace tundish {
namespace {

// Returns a name that no file of the data set has.
std::string free_list_name(const std::set<std::string>& taken) {
  std::string name = "list.csv";
  for (int n = 2; taken.contains(name); ++n) name = fmt::format("list-{}.csv", n);
  return name;
}

class FolderWriter : public TargetWriter {
 public:
  explicit FolderWriter(const Conversion& conversion)
      : report_(conversion.report),
        schema_(conversion.source.schema()),
        folder_(conversion.target, conversion.replace),
        files_(schema_, FileNames::of_source) {
    if (needs_list(schema_) || schema_.find(FieldType::label) >= 0) list_.emplace(schema_);
  }

  void add(const ConvertSample& sample) override {
    for (const SampleFile& file : files_.of(sample)) write(file);
    if (list_) list_->add(sample, files_.main_name());
  }

  void finish() override {
    if (list_ && (needs_list(schema_) || !list_->follows_from_folders())) {
      report_.list = free_list_name(like_lists_);
      const std::string text = list_->text();
      folder_.write(report_.list, std::as_bytes(std::span(text)));
    }
    folder_.sync();
  }

 private:
  void write(const SampleFile& file) {
    if (!folder_.write(file.name, file.content)) ++report_.unchanged;
    const std::string top = file.name.substr(0, file.name.find('/'));  // or a folder's name
    if (top.starts_with("list") && top.ends_with(".csv")) like_lists_.insert(top);
    ++report_.files;
    report_.bytes += file.content.size();
  }

  ConvertReport& report_;
  const Schema& schema_;
  OutputFolder folder_;
  SampleFiles files_;
  std::optional<ListText> list_;      // empty if no list can be needed
  std::set<std::string> like_lists_;  // names that may collide with the list
};

}  // namespace

std::unique_ptr<TargetWriter> make_folder_writer(const Conversion& conversion) {
  return std::make_unique<FolderWriter>(conversion);
}

}  // namespace tundish
