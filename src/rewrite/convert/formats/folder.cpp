#include <fmt/format.h>

#include <set>

#include "base/interruption.h"
#include "data/pack/own_files.h"
#include "data/source/labels.h"
#include "data/source/names.h"
#include "rewrite/convert/formats/writers.h"
#include "rewrite/convert/list_csv.h"
#include "rewrite/convert/output_folder.h"
#include "rewrite/convert/sample_files.h"
#include "rewrite/convert/seen_in_folder.h"

namespace tundish {
namespace {

constexpr std::string_view kImageFolder = "image folder";  // Schema::source

// Returns a name that no file of the dataset has: neither a written one nor the list it was read
// from.
std::string free_list_name(const std::set<std::string>& taken, const Conversion& conversion) {
  std::string name = "list.csv";
  const auto is_own = [&] {
    return !find_own_file(conversion.source, {join_path(conversion.target, name)}).empty();
  };
  for (int n = 2; taken.contains(name) || is_own(); ++n) name = fmt::format("list-{}.csv", n);
  return name;
}

// Returns true if the name of a class can be the name of its folder.
bool is_folder_name(const std::string& name) {
  constexpr std::size_t kLongest = 255;  // bytes, on the usual file systems
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

// Returns true if every sample has a named class and some sample is not in the folder of its class.
bool needs_class_folders(const Source& source) {
  const Schema& schema = source.schema();
  if (schema.find(FieldType::label) < 0 || !source.labels_known()) return false;
  bool all_inside = true;
  for (std::uint64_t i = 0; i < source.count(); ++i) {
    check_stop(source.path());
    const std::string folder = class_name(schema, source.info(i).label);
    if (!is_folder_name(folder)) return false;
    all_inside = all_inside && source.key_or_nothing(i).starts_with(folder + '/');
  }
  return !all_inside;
}

class FolderWriter : public TargetWriter {
 public:
  explicit FolderWriter(const Conversion& conversion)
      : conversion_(conversion),
        report_(conversion.report),
        schema_(conversion.source.schema()),
        seen_(conversion.target),
        folder_(conversion.target, conversion.replace),
        files_(schema_, FileNames::of_source),
        for_readers_(conversion.class_folders && schema_.find(FieldType::image) >= 0),
        class_folders_(conversion.class_folders && needs_class_folders(conversion.source)),
        list_(schema_) {}

  void add(const ConvertSample& sample) override {
    const std::string folder =
        class_folders_ ? class_name(schema_, sample.info.label) + '/' : std::string();
    for (const SampleFile& file : files_.of(sample)) {
      write(folder + file.name, file.content);
      if (for_readers_) seen_.add(folder + file.name, file.name == files_.main_name());
    }
    list_.add(sample, folder + files_.main_name());
  }

  void finish() override {
    const bool has_labels = schema_.find(FieldType::label) >= 0;
    const bool numbered_by_name = has_labels && list_.follows_from_folders();
    if (needs_list(schema_) || (has_labels && !numbered_by_name) || seen_.needs_list()) {
      report_.list = free_list_name(like_lists_, conversion_);
      const std::string text = list_.text();
      folder_.write(report_.list, std::as_bytes(std::span(text)));
    }
    if (class_folders_ && !numbered_by_name) {
      report_.warnings.push_back(
          "the classes are not in the order of their names, or some have no sample: programs that "
          "number the folders by name, such as torchvision's ImageFolder, give other labels than " +
          report_.list);
    }
    if (for_readers_) {
      const bool labeled = class_folders_ || (numbered_by_name && schema_.source != kImageFolder);
      for (std::string& text : seen_.warnings(report_.list, labeled)) {
        report_.warnings.push_back(std::move(text));
      }
    }
    folder_.sync();
  }

 private:
  void write(const std::string& name, Bytes content) {
    if (!folder_.write(name, content)) ++report_.unchanged;
    const std::string top = name.substr(0, name.find('/'));  // or a folder's name
    if (top.starts_with("list") && top.ends_with(".csv")) like_lists_.insert(top);
    ++report_.files;
    report_.bytes += content.size();
  }

  const Conversion conversion_;
  ConvertReport& report_;
  const Schema& schema_;
  SeenInFolder seen_;  // declared before the folder, which is made if it is missing
  OutputFolder folder_;
  SampleFiles files_;
  const bool for_readers_;  // false: the files of the source are restored, or have no images
  const bool class_folders_;
  ListText list_;
  std::set<std::string> like_lists_;  // names that may collide with the list
};

}  // namespace

std::unique_ptr<TargetWriter> make_folder_writer(const Conversion& conversion) {
  return std::make_unique<FolderWriter>(conversion);
}

}  // namespace tundish
