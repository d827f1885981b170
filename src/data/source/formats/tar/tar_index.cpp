#include "data/source/formats/tar/tar_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "base/interruption.h"
#include "data/source/formats/tar/tar_labels.h"
#include "data/source/formats/tar/tar_names.h"
#include "data/source/formats/tar/tar_reader.h"
#include "data/source/labels.h"
#include "data/source/names.h"

namespace tundish {
namespace {

constexpr std::uint64_t kMaxLabelBytes = 4096;
constexpr std::size_t kMaxMembers = 50'000'000;
constexpr const char* kTooLong = "files are left out, their names are longer than 4,000 bytes";
static_assert(kMaxKeyBytes == 4000);
constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kNoMember = ~std::size_t{0};

class Indexer {
 public:
  explicit Indexer(TarIndex& out) : out_(out) {
    out_ = {};
    out_.schema.source = "tar";
  }

  // Call add() for the archives in order, then finish().
  std::optional<Fault> add(ByteStream& stream) {
    out_.archive = archives_;
    auto fault = read_members(stream);
    ++archives_;
    return fault;
  }

  // `names`: names of the archives, used only if several archives contain one key.
  std::optional<Fault> finish(std::span<const std::string> names) {
    groups_.push_back({members_.size()});  // ends the last one
    choose_images();
    if (auto fault = find_repeats()) return fault;
    if (auto fault = keep_samples()) return fault;
    if (auto fault = make_fields()) return fault;
    if (auto fault = add_labels()) return fault;
    if (in_several_ && !names.empty()) add_names(names);
    return {};
  }

 private:
  struct Member {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint32_t kind;   // index in kinds_
    std::uint32_t label;  // index in label_texts_, or kNone
  };

  struct Kind {
    std::string name;
    bool picture;                              // has an image ending
    std::tuple<bool, bool, std::size_t> rank;  // the lowest is the image
    std::size_t last_member = kNoMember;
  };

  struct Group {
    std::size_t first;  // member; the next group's `first` ends this group
    std::uint32_t archive = 0;
    std::size_t image = kNoMember;
    std::size_t label = kNoMember;
    bool kept() const { return image != kNoMember; }
  };

  std::optional<Fault> read_members(ByteStream& stream) {
    TarReader reader(stream);
    TarMember member;
    while (reader.next(member)) {
      if (members_.size() == kMaxMembers) {
        return Fault{ErrorCode::tar_damaged,
                     fmt::format("it has more than {} members", with_commas(kMaxMembers)),
                     member.offset};
      }
      if (member.name.size() > kMaxKeyBytes) {
        if (++too_long_ == 1) first_too_long_ = member.name.substr(0, 60) + "...";
        continue;
      }
      const std::string path = member_path(member.name);
      const std::optional<SplitName> name = split_name(path);
      if (!name) {
        if (++without_kind_ == 1) first_without_kind_ = path;
        continue;
      }
      std::uint32_t label = kNone;
      const std::uint32_t kind = kind_number(lower(name->kind));
      if (kinds_[kind].name == "cls") {
        if (auto fault = read_label(reader, member, path)) return fault;
        label = static_cast<std::uint32_t>(label_texts_.size() - 1);
      }
      if (groups_.empty() || groups_.back().archive != archives_ ||
          split_name(paths_[groups_.back().first])->stem != name->stem) {
        groups_.push_back({members_.size(), archives_});
      }
      std::size_t& last = kinds_[kind].last_member;
      if (last >= groups_.back().first && last != kNoMember) {
        return Fault{ErrorCode::tar_duplicate,
                     fmt::format("{} and {} are the same kind of file of one sample",
                                 in_quotes(paths_[last]), in_quotes(path)),
                     member.offset};
      }
      last = members_.size();
      members_.push_back({member.offset, member.size, kind, label});
      paths_.add(path);
    }
    if (reader.fault()) return reader.fault();
    links_ += reader.links();
    if (classes_.empty()) classes_ = reader.classes();
    if (!reader.classes().empty() && reader.classes() != classes_) {
      return Fault{ErrorCode::label_unreadable,
                   "it names other classes than the archives before it; pack each, then tundish "
                   "merge",
                   0};
    }
    return {};
  }

  std::uint32_t kind_number(const std::string& name) {
    const auto [at, fresh] = kind_numbers_.try_emplace(name, kinds_.size());
    if (fresh) {
      const std::string ending = '.' + name;
      kinds_.push_back(
          {name,
           has_image_ending(ending) || lower(ending).ends_with(".gif"),
           {ending.ends_with(".npy"), name.find('.') != std::string::npos, kinds_.size()}});
    }
    return at->second;
  }

  std::optional<Fault> read_label(TarReader& reader, const TarMember& member,
                                  const std::string& path) {
    if (member.size > kMaxLabelBytes) {
      return Fault{ErrorCode::label_unreadable,
                   fmt::format("{} has {} bytes", in_quotes(path), with_commas(member.size)),
                   member.offset};
    }
    if (!reader.read(label_bytes_)) return reader.fault();
    const std::string_view text(reinterpret_cast<const char*>(label_bytes_.data()),
                                label_bytes_.size());
    label_texts_.add(trim(text, " \t\r\n"));
    return {};
  }

  void choose_images() {
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
      Group& group = groups_[g];
      for (std::size_t m = group.first; m < groups_[g + 1].first; ++m) {
        const Kind& kind = kinds_[members_[m].kind];
        if (members_[m].label != kNone) group.label = m;
        if (!kind.picture) continue;
        if (!group.kept() || kind.rank < kinds_[members_[group.image].kind].rank) group.image = m;
      }
    }
  }

  std::string_view stem(std::size_t group) const {
    return split_name(paths_[groups_[group].first])->stem;
  }

  // Detects samples with files that are not adjacent, because such a sample would be incomplete.
  std::optional<Fault> find_repeats() {
    std::vector<std::uint32_t> order(groups_.size() - 1);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      check_stop({});
      const std::string_view left = stem(a);
      const std::string_view right = stem(b);
      return left != right ? left < right : a < b;
    });
    std::optional<Fault> first;
    for (std::size_t n = 1; n < order.size(); ++n) {
      const std::uint32_t a = order[n - 1];
      const std::uint32_t b = order[n];
      if (stem(a) != stem(b) || (!groups_[a].kept() && !groups_[b].kept())) continue;
      if (groups_[a].archive != groups_[b].archive) {
        in_several_ = true;  // two samples: archives are independent of each other
        continue;
      }
      const Member& again = members_[groups_[b].first];
      if (first &&
          std::pair(out_.archive, first->offset) <= std::pair(groups_[b].archive, again.offset)) {
        continue;
      }
      out_.archive = groups_[b].archive;
      first = Fault{ErrorCode::tar_duplicate,
                    fmt::format("{} comes again, but files of one sample must be next to each "
                                "other (tar --sort=name)",
                                in_quotes(stem(b))),
                    again.offset};
    }
    return first;
  }

  std::optional<Fault> keep_samples() {
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
      if (groups_[g].kept()) {
        samples_.push_back(g);
        out_.keys.add(paths_[groups_[g].image]);
      } else if (++without_image_ == 1) {
        first_without_image_ = paths_[groups_[g].first];
      }
    }
    warn(too_long_, kTooLong, first_too_long_);
    warn(without_kind_, "files are left out, their names have no ending", first_without_kind_);
    warn(without_image_, "samples are left out, they have no image", first_without_image_);
    if (links_ > 0) {
      out_.warnings.push_back(fmt::format("{} links are left out", with_commas(links_)));
    }
    if (samples_.empty()) {
      const bool long_names = too_long_ > 0;  // then the first warning explains the long names
      return Fault{ErrorCode::source_empty, long_names ? out_.warnings.front() : "", 0};
    }
    return {};
  }

  void warn(std::uint64_t count, const char* text, const std::string& first) {
    if (count == 0) return;
    out_.warnings.push_back(
        fmt::format("{} {} (first: {})", with_commas(count), text, printable(first)));
  }

  std::optional<Fault> make_fields() {
    std::vector<Field>& fields = out_.schema.fields;
    fields.push_back({"image", FieldType::image});
    std::vector<std::uint32_t> field_of(kinds_.size(), kNone);
    for (const std::size_t g : samples_) {
      out_.archive = groups_[g].archive;
      out_.first_part.push_back(out_.parts.size());
      for (std::size_t m = groups_[g].first; m < groups_[g + 1].first; ++m) {
        const Member& member = members_[m];
        if (member.label != kNone) continue;
        std::uint32_t field = 0;
        if (m != groups_[g].image) {
          const std::string spelled(split_name(paths_[m])->kind);
          if (field_of[member.kind] == kNone) {
            field_of[member.kind] = static_cast<std::uint32_t>(fields.size());
            if (auto fault = add_field(spelled, member.offset)) return fault;
          }
          field = field_of[member.kind];
          if (fields[field].name != field_name(spelled)) {
            if (++respelled_ == 1) first_respelled_ = paths_[m];
            fields[field].name = field_name(kinds_[member.kind].name);
          }
          if (member.size == 0 && ++empty_ == 1) first_empty_ = paths_[m];
        }
        out_.parts.push_back({member.offset, member.size, field, groups_[g].archive});
      }
    }
    out_.first_part.push_back(out_.parts.size());
    warn(respelled_,
         "files have endings that others spell in another case: the fields are in lower case",
         first_respelled_);
    warn(empty_, "files beside images are empty: kept as if they were missing", first_empty_);
    return {};
  }

  // Returns the field name for a kind. The names of image and label are reserved.
  static std::string field_name(const std::string& kind) {
    const bool taken = kind.empty() || kind == "image" || kind == "label";
    return printable(taken ? '.' + kind : kind);
  }

  std::optional<Fault> add_field(const std::string& kind, std::uint64_t offset) {
    std::vector<Field>& fields = out_.schema.fields;
    if (fields.size() + 1 == kMaxFields) {  // reserve one for the label
      return Fault{ErrorCode::tar_damaged,
                   fmt::format("its samples have more than {} kinds of files; what follows the "
                               "first dot of a name is the kind",
                               kMaxFields - 2),
                   offset};
    }
    const std::string name = field_name(kind);
    for (const Field& field : fields) {
      if (field.name != name) continue;
      return Fault{ErrorCode::tar_duplicate,
                   fmt::format("two kinds of files are shown as '{}'", name), offset};
    }
    const std::string last = lower(kind.substr(kind.rfind('.') + 1));
    const bool text = last == "txt" || last == "text" || last == "json";
    fields.push_back({name, text            ? FieldType::text
                            : last == "npy" ? FieldType::array
                                            : FieldType::bytes});
    return {};
  }

  std::optional<Fault> add_labels() {
    StringTable texts;
    const auto has_label = [&](std::size_t g) { return groups_[g].label != kNoMember; };
    const bool any = std::any_of(samples_.begin(), samples_.end(), has_label);
    if (!any) {
      label_by_folder();
      return {};
    }
    for (const std::size_t g : samples_) {
      out_.archive = groups_[g].archive;
      if (!has_label(g)) {
        return Fault{ErrorCode::label_unreadable,
                     fmt::format("{} has no .cls file, but others have",
                                 in_quotes(paths_[groups_[g].image])),
                     members_[groups_[g].image].offset};
      }
      texts.add(label_texts_[members_[groups_[g].label].label]);
    }
    Labels labels;
    if (const auto fault = make_labels(labels, texts, MixedLabels::refused)) {
      const std::size_t m = groups_[samples_[fault->sample]].label;
      out_.archive = groups_[samples_[fault->sample]].archive;
      return Fault{ErrorCode::label_unreadable,
                   fmt::format("{}: {}", in_quotes(paths_[m]), fault->reason), members_[m].offset};
    }
    name_classes(labels);
    take(labels);
    return {};
  }

  // Gives numbers the names listed in the archive, if each number has one.
  void name_classes(Labels& labels) const {
    const auto unnamed = [&](std::int64_t label) {
      return label >= static_cast<std::int64_t>(classes_.size());
    };
    if (!labels.classes.empty()) return;
    if (std::none_of(labels.values.begin(), labels.values.end(), unnamed)) {
      labels.classes = classes_;
    }
  }

  void label_by_folder() {
    FolderLabels found = label_by_folders(out_.keys);
    if (!found.warning.empty()) out_.warnings.push_back(found.warning);
    if (!found.labels.values.empty()) return take(found.labels);
    out_.labels.assign(samples_.size(), -1);
  }

  void take(Labels& labels) {
    // The label is the second field, as in other sources.
    out_.schema.fields.insert(out_.schema.fields.begin() + 1, {"label", FieldType::label});
    for (TarIndex::Part& part : out_.parts) part.field += part.field > 0;
    out_.labels = std::move(labels.values);
    out_.schema.classes = std::move(labels.classes);
  }

  // If two archives share a key, prefixes all keys with the names of their archives.
  void add_names(std::span<const std::string> names) {
    StringTable keys;
    for (std::size_t i = 0; i < out_.keys.size(); ++i) {
      std::string key = names[groups_[samples_[i]].archive] + '/';
      keys.add(key += out_.keys[i]);
    }
    out_.keys = std::move(keys);
  }

  TarIndex& out_;
  std::uint32_t archives_ = 0;
  bool in_several_ = false;  // a key is in several archives
  std::vector<Member> members_;
  StringTable paths_;  // paths of the members
  std::vector<Group> groups_;
  std::vector<std::size_t> samples_;  // groups that are kept
  std::vector<Kind> kinds_;
  std::map<std::string, std::uint32_t> kind_numbers_;
  StringTable label_texts_;
  std::vector<std::byte> label_bytes_;
  std::vector<std::string> classes_;  // listed in the archive
  std::uint64_t links_ = 0;
  std::uint64_t without_kind_ = 0, without_image_ = 0, respelled_ = 0, empty_ = 0, too_long_ = 0;
  std::string first_without_kind_, first_without_image_, first_respelled_, first_empty_,
      first_too_long_;
};

}  // namespace

std::optional<Fault> index_tar(TarIndex& out, ByteStream& stream) {
  Indexer indexer(out);
  if (auto fault = indexer.add(stream)) return fault;
  return indexer.finish({});
}

std::optional<Fault> index_tars(TarIndex& out, std::span<const std::string> names,
                                const OpenArchive& open) {
  Indexer indexer(out);
  for (std::uint32_t archive = 0; archive < names.size(); ++archive) {
    const std::unique_ptr<ByteStream> stream = open(archive);
    if (auto fault = indexer.add(*stream)) return fault;
  }
  return indexer.finish(names);
}

}  // namespace tundish
