#include "data/source/field_names.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "data/source/names.h"

namespace tundish {
namespace {

// Most specific first: a file with "image" and "data" means "image".
constexpr std::array<std::string_view, 17> kImageNames = {
    "image",  "images",    "image/encoded", "img", "imgs",     "jpg",   "jpeg",   "png", "webp",
    "pixels", "image_raw", "encoded",       "x",   "features", "input", "inputs", "data"};
constexpr std::array<std::string_view, 9> kLabelNames = {"label", "labels", "image/class/label",
                                                         "y",     "target", "targets",
                                                         "class", "cls",    "fine_labels"};

std::span<const std::string_view> usual_names(FieldRole role) {
  if (role == FieldRole::image) return kImageNames;
  return kLabelNames;
}

const char* role_name(FieldRole role) { return role == FieldRole::image ? "image" : "label"; }

// Lists the names that fit, or all names if none fits.
std::string list_names(std::span<const FieldCandidate> candidates) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (const bool all : {false, true}) {
    std::size_t listed = 0;
    for (const FieldCandidate& candidate : candidates) {
      if (!all && !candidate.fits) continue;
      if (listed++ == kMost) return out + ", ...";
      out += (out.empty() ? "" : ", ") + printable(candidate.name);
    }
    if (!out.empty()) return out;
  }
  return "none";
}

std::optional<Fault> find_wanted(int& out, FieldRole role, const std::string& wanted,
                                 std::span<const FieldCandidate> candidates) {
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (candidates[c].name != wanted) continue;
    if (candidates[c].fits) {
      out = static_cast<int>(c);
      return std::nullopt;
    }
    return Fault{ErrorCode::field_unclear,
                 fmt::format("'{}' cannot be the {}: its type is another; there are: {}",
                             printable(wanted), role_name(role), list_names(candidates)),
                 0};
  }
  return Fault{ErrorCode::field_unclear,
               fmt::format("nothing is called '{}'; there are: {}", printable(wanted),
                           list_names(candidates)),
               0};
}

// Returns the index of the name in the table. Matches of the part behind the last slash rank later.
std::size_t rank(const std::string& name, std::span<const std::string_view> usual) {
  const std::string whole = lower(name);
  const std::string last = whole.substr(whole.rfind('/') + 1);  // npos + 1 is 0
  for (std::size_t u = 0; u < usual.size(); ++u) {
    if (whole == usual[u]) return u;
  }
  for (std::size_t u = 0; u < usual.size(); ++u) {
    if (last == usual[u]) return usual.size() + u;
  }
  return 2 * usual.size();
}

bool is_channels(std::uint64_t side) { return side == 1 || side == 3 || side == 4; }

// True for three sides of which one counts channels, or for a square with a usual name.
bool has_picture_shape(const std::string& name, const std::vector<std::uint64_t>& shape) {
  constexpr std::uint64_t kSmallest = 8;  // (2, 3, 4) is unlikely to be a picture
  if (shape.size() == 2) {
    const std::string small = lower(name);
    const bool named = small.find("image") != small.npos || small.find("img") != small.npos;
    return named && shape[0] == shape[1] && shape[0] >= kSmallest;
  }
  if (shape.size() != 3 || shape[1] < kSmallest) return false;
  return (is_channels(shape[2]) && shape[0] >= kSmallest) ||
         (is_channels(shape[0]) && shape[2] >= kSmallest);
}

}  // namespace

std::string no_label_warning(std::span<const FieldCandidate> candidates, bool has_image) {
  std::string could;
  for (const FieldCandidate& candidate : candidates) {
    if (!candidate.fits) continue;
    if (could.size() > 200) {
      could += ", ...";
      break;
    }
    could += (could.empty() ? "" : ", ") + printable(candidate.name);
  }
  if (could.empty() && !has_image) return "";
  for (const FieldCandidate& candidate : candidates) {
    if (candidate.fits || rank(candidate.name, kLabelNames) >= 2 * kLabelNames.size()) continue;
    return fmt::format(
        "its samples have no labels: '{}' is called as one, but has no single whole number per "
        "sample{}",
        printable(candidate.name),
        could.empty()
            ? ""
            : "; these could be: " + could + " (--label NAME, in Python DataSource(label=NAME))");
  }
  if (could.empty()) {
    return "its samples have no labels: it has no whole number per sample that could be one";
  }
  return fmt::format(
      "its samples have no labels: none is called label, y, target, ...; these could be: {} "
      "(--label NAME, in Python DataSource(label=NAME))",
      could);
}

std::string float_picture_warning(const std::string& name, const ArrayType& type) {
  if (type.element == ArrayElement::uint8 || type.element == ArrayElement::boolean) return "";
  if (!has_picture_shape(name, type.shape)) return "";
  return fmt::format(
      "'{}' is an array of {} for each sample, not a picture: it is neither resized nor "
      "augmented; pictures are uint8 (a byte per level), or uint16 of one channel",
      printable(name), array_text(type));
}

std::optional<Fault> choose_field(int& out, FieldRole role, const std::string& wanted,
                                  std::span<const FieldCandidate> candidates) {
  out = -1;
  if (!wanted.empty()) return find_wanted(out, role, wanted, candidates);
  const auto usual = usual_names(role);
  std::size_t best = 2 * usual.size();
  std::size_t same = 0;  // candidates with the best rank
  std::size_t fitting = 0;
  int last_fitting = -1;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!candidates[c].fits) continue;
    ++fitting;
    last_fitting = static_cast<int>(c);
    const std::size_t here = rank(candidates[c].name, usual);
    if (here == 2 * usual.size() || here > best) continue;
    same = here == best ? same + 1 : 1;
    if (here < best) out = static_cast<int>(c);
    best = here;
  }
  if (role == FieldRole::label) {
    if (same > 1) out = -1;  // "train/label" and "test/label": ambiguous
    return std::nullopt;
  }
  if (same == 0 && fitting == 1) out = last_fitting;
  if (same == 1 || fitting <= 1) return std::nullopt;
  out = -1;
  return Fault{ErrorCode::field_unclear,
               fmt::format("several could be the image: {}", list_names(candidates)), 0};
}

}  // namespace tundish
