#include "data/source/formats/image_folder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/interruption.h"
#include "data/source/disk_cache/file_times.h"
#include "data/source/folder_entries.h"
#include "data/source/loose_file.h"
#include "data/source/names.h"
#include "data/source/string_table.h"

namespace tundish {
namespace {

// Maximum numbers of folders reached through links, and of those reached before; more indicates a
// maze of links, which has paths without end.
constexpr std::uint64_t kMaxLinkedFolders = 1'000'000, kMaxVisitedAgain = 20'000;
constexpr std::size_t kMaxNamed = 20;  // warnings of one kind that are listed

using Identity = std::pair<dev_t, ino_t>;

struct FileEntry {
  std::string name;
  std::optional<std::uint64_t> size;  // empty: missing or not a regular file; reading it will fail
  std::uint64_t changed = 0;
};

struct Listing {
  std::vector<FileEntry> files;      // with an image ending
  std::vector<std::string> folders;  // includes links to folders
  std::uint64_t left_out = 0;        // files without an image ending
};

struct ClassFolder {
  std::string path;  // relative to the class folder, "" for the class folder
  std::vector<FileEntry> files;
};

template <typename T, typename Name>
void sort_by_name(std::vector<T>& list, const std::string& folder, Name name) {
  std::sort(list.begin(), list.end(), [&](const T& a, const T& b) {
    check_stop(folder);
    return name_before(name(a), name(b));
  });
}

Listing list_folder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) throw_errno(path, "list", false);
  Listing out;
  while (true) {
    check_stop(path);
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) {
      if (errno != 0) throw_errno(path, "list", false);
      break;
    }
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const bool image = has_image_ending(name);
    if (entry->d_type == DT_REG && !image) {
      ++out.left_out;
      continue;
    }
    struct stat status;
    const bool known = ::fstatat(::dirfd(folder.get()), name.c_str(), &status, 0) == 0;
    if (known && S_ISDIR(status.st_mode)) {
      out.folders.push_back(name);
    } else if (image) {
      const bool regular = known && S_ISREG(status.st_mode);
      out.files.push_back(
          {name,
           regular ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(status.st_size))
                   : std::nullopt,
           known ? content_stamp(status) : 0});
    } else if (!known && errno != ENOENT && errno != ELOOP) {
      throw_errno(join_path(path, name), "stat", false);  // may be a folder full of images
    } else {
      ++out.left_out;
    }
  }
  sort_by_name(out.files, path,
               [](const FileEntry& file) -> const std::string& { return file.name; });
  sort_by_name(out.folders, path,
               [](const std::string& name) -> const std::string& { return name; });
  return out;
}

// Counts the folders that the classes of a dataset reach through links.
class LinkedFolders {
 public:
  explicit LinkedFolders(std::string root) : root_(std::move(root)) {}

  // Throws Error if there are too many.
  void add(const Identity& folder) {
    ++count_;
    again_ += !seen_.insert(folder).second;
    if (count_ <= kMaxLinkedFolders && again_ <= kMaxVisitedAgain) return;
    const bool is_maze = again_ > kMaxVisitedAgain;
    throw Error(
        ErrorCode::source_unreadable, {.file = root_},
        fmt::format("symbolic links lead to {} folders{}", with_commas(is_maze ? again_ : count_),
                    is_maze ? " that were reached before" : ""));
  }

 private:
  std::string root_;
  std::set<Identity> seen_;
  std::uint64_t count_ = 0, again_ = 0;
};

// Visits all files below one class folder.
class Walk {
 public:
  Walk(std::string root, LinkedFolders& links) : root_(std::move(root)), links_(links) {
    enter("", false);
    sort_by_name(folders_, root_,
                 [](const ClassFolder& f) -> const std::string& { return f.path; });
  }

  const std::vector<ClassFolder>& folders() const { return folders_; }
  std::uint64_t left_out() const { return left_out_; }
  const std::vector<std::string>& loops() const { return loops_; }

 private:
  void enter(const std::string& relative, bool linked) {
    const std::string path = relative.empty() ? root_ : join_path(root_, relative);
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) throw_errno(path, "stat", false);
    const Identity identity{status.st_dev, status.st_ino};
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      loops_.push_back(path);
      return;
    }
    struct stat itself;
    linked = linked || (::lstat(path.c_str(), &itself) == 0 && S_ISLNK(itself.st_mode));
    if (linked) links_.add(identity);
    above_.push_back(identity);
    Listing listing = list_folder(path);
    left_out_ += listing.left_out;
    if (!listing.files.empty()) folders_.push_back({relative, std::move(listing.files)});
    for (const std::string& name : listing.folders) enter(join_path(relative, name), linked);
    above_.pop_back();
  }

  std::string root_;
  LinkedFolders& links_;
  std::vector<ClassFolder> folders_;
  std::vector<Identity> above_;  // open folders, to detect loops
  std::vector<std::string> loops_;
  std::uint64_t left_out_ = 0;
};

// Returns a hint if a folder below `path` has the file of an array format: `path` may be a group of
// arrays whose own file is missing. Empty if none of the first folders has such a file.
// `left`: number of folders that may still be listed.
std::string arrays_below(const std::string& path, const Listing& listing, int levels, int& left) {
  constexpr std::size_t kTried = 100;  // per folder
  constexpr std::pair<const char*, const char*> kFiles[] = {
      {"attributes.json", "n5"}, {".zarray", "zarr"}, {"zarr.json", "zarr"}};
  for (std::size_t n = 0; n < std::min(listing.folders.size(), kTried); ++n) {
    const std::string folder = join_path(path, listing.folders[n]);
    for (const auto& [file, format] : kFiles) {
      struct stat status;
      if (::stat(join_path(folder, file).c_str(), &status) != 0) continue;
      return fmt::format("{} has a file {}: if it is a group of arrays, --format {} opens it",
                         printable(folder), file, format);
    }
    if (levels == 0 || left-- <= 0) continue;
    const std::string found = arrays_below(folder, list_folder(folder), levels - 1, left);
    if (!found.empty()) return found;
  }
  return "";
}

class ImageFolder : public Source, public FileTimes {
 public:
  explicit ImageFolder(const std::string& path) : path_(path) {
    schema_.source = "image folder";
    schema_.fields = {{"image", FieldType::image}};
    Listing root = list_folder(path);
    std::vector<std::string> empty_classes;
    LinkedFolders links(path);
    for (std::size_t c = 0; c < root.folders.size(); ++c) {
      if (!add_class(root.folders[c], static_cast<std::int32_t>(c), links)) {
        empty_classes.push_back(root.folders[c]);
      }
    }
    if (entries_.empty()) {
      if (root.files.empty()) refuse_empty(root);
      for (const FileEntry& file : root.files) add(file.name, file, -1);
      warnings_.push_back(
          fmt::format("{}: images are directly in it, so they have no labels", printable(path)));
      left_out_ += root.left_out;
    } else {
      schema_.fields.push_back({"label", FieldType::label});
      schema_.classes = root.folders;
      warn_about_empty(empty_classes);
      if (!root.files.empty()) {
        warnings_.push_back(fmt::format(
            "{}: {} images are in no class folder and are left out (first: {})", printable(path),
            with_commas(root.files.size()), printable(root.files.front().name)));
      }
    }
    if (left_out_ > 0) {
      warnings_.push_back(fmt::format("{}: {} files are left out, their names do not end as images",
                                      printable(path), with_commas(left_out_)));
    }
  }

  std::uint64_t count() const override { return entries_.size(); }
  const Schema& schema() const override { return schema_; }
  std::string path() const override { return path_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  SampleInfo info(std::uint64_t i) const override { return {.label = entries_[i].label}; }

  std::string key(std::uint64_t i) const override { return std::string(keys_[i]); }

  std::uint64_t bytes(std::uint64_t i) const override { return entries_[i].size; }

  bool extent(std::uint64_t i, int field, Extent& out) const override {
    if (field != 0 || entries_[i].size == 0) return false;
    out = {join_path(path_, key(i)), 0, entries_[i].size};
    return true;
  }

  std::string file_times() const override { return fmt::format("{:016x}", times_); }
  bool was_missing(std::uint64_t i) const override { return entries_[i].size == 0; }

  void read(Sample& out, std::uint64_t i, FieldSet fields) const override {
    out.fields.resize(schema_.fields.size());
    for (std::vector<std::byte>& field : out.fields) field.clear();
    if ((fields & 1) == 0) return;
    const std::string key = this->key(i);
    read_loose_file(out.fields[0], join_path(path_, key), entries_[i].size,
                    {.file = path_, .record = i, .key = key});
  }

 private:
  [[noreturn]] void refuse_empty(const Listing& root) const {
    std::string reason = saved_by_datasets();
    int left = 1'000;
    if (reason.empty()) reason = arrays_below(path_, root, 3, left);
    const std::uint64_t files = left_out_ + root.left_out;
    if (reason.empty() && files > 0) {
      reason = fmt::format("of {} files in it, none has a name that ends as an image's",
                           with_commas(files));
    }
    throw Error(ErrorCode::source_empty, {.file = path_}, reason);
  }

  // Names the remedy for a folder that Hugging Face's save_to_disk() wrote; otherwise empty.
  std::string saved_by_datasets() const {
    std::error_code failed;
    for (const char* name : {"state.json", "dataset_dict.json"}) {
      if (!std::filesystem::exists(join_path(path_, name), failed)) continue;
      return fmt::format(
          "it is a Hugging Face dataset of save_to_disk(), which only Python reads: "
          "tundish.pack(datasets.load_from_disk('{}'), 'train.tnd'){}",
          printable(path_),
          std::string_view(name) == "state.json"
              ? ""
              : "; choose a split: load_from_disk(...)['train']");
    }
    return "";
  }

  struct Entry {
    std::uint64_t size;  // 0: empty or unknown
    std::int32_t label;
  };

  // Returns false if the class has no image.
  bool add_class(const std::string& name, std::int32_t label, LinkedFolders& links) {
    const Walk walk(join_path(path_, name), links);
    left_out_ += walk.left_out();
    for (const std::string& loop : walk.loops()) {
      warnings_.push_back(fmt::format(
          "{}: not followed, it leads back to a folder that contains it", printable(loop)));
    }
    for (const ClassFolder& folder : walk.folders()) {
      const std::string prefix = join_path(name, folder.path);
      for (const FileEntry& file : folder.files) add(join_path(prefix, file.name), file, label);
    }
    return !walk.folders().empty();
  }

  void add(const std::string& key, const FileEntry& file, std::int32_t label) {
    keys_.add(key);
    entries_.push_back({file.size.value_or(0), label});
    times_ = XXH3_64bits_withSeed(&file.changed, sizeof file.changed, times_);
  }

  void warn_about_empty(const std::vector<std::string>& names) {
    for (std::size_t n = 0; n < std::min(names.size(), kMaxNamed); ++n) {
      warnings_.push_back(
          Error(ErrorCode::class_empty, {.file = join_path(path_, names[n])}, "").what());
    }
    if (names.size() > kMaxNamed) {
      warnings_.push_back(fmt::format("{}: {} more class folders without images", printable(path_),
                                      with_commas(names.size() - kMaxNamed)));
    }
  }

  std::string path_;
  Schema schema_;
  std::vector<Entry> entries_;
  StringTable keys_;
  std::vector<std::string> warnings_;
  std::uint64_t times_ = 0;  // digest of the times of all files, in order
  std::uint64_t left_out_ = 0;
};

}  // namespace

std::shared_ptr<const Source> open_image_folder(const std::string& path) {
  return std::make_shared<ImageFolder>(path);
}

}  // namespace tundish
