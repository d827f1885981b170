#include "data/source/formats/safetensors_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "data/source/format.h"

namespace tundish {
namespace {

constexpr const char* kFormat = "safetensors";

// Receives the JSON in events, so that no tree is ever in memory.
//   { NAME: {"dtype": TEXT, "shape": [N...], "data_offsets": [A, B]}, "__metadata__": {TEXT: TEXT}
//   }
class Head {
 public:
  explicit Head(std::vector<SafeTensor>& out) : out_(out) {}
  std::optional<Fault> fault;

  bool null() { return refuse("null"); }
  bool boolean(bool) { return refuse("a boolean"); }
  bool number_integer(std::int64_t) { return refuse("a negative number"); }
  bool number_float(double, const std::string&) { return refuse("a fraction"); }
  bool binary(std::vector<std::uint8_t>&) { return refuse("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (depth_ != 3 || !in_list_) return refuse("a number in a wrong place");
    if (key_ == "shape") {
      if (out_.back().shape.size() == 64) return refuse("a shape of over 64 sides");
      out_.back().shape.push_back(value);
      return true;
    }
    if (numbers_ == 2) return refuse("more than two data_offsets");
    (numbers_++ == 0 ? out_.back().begin : out_.back().end) = value;
    return true;
  }

  bool string(std::string& text) {
    if (depth_ != 2 || in_list_) return refuse("a text in a wrong place");
    if (metadata_) return true;
    if (key_ != "dtype") return refuse("a text in a wrong place");
    out_.back().dtype = text;
    return true;
  }

  bool start_object(std::size_t) {
    if (depth_ == 2 || in_list_) return refuse("an object in a wrong place");
    ++depth_;
    keys_.clear();
    return true;
  }

  bool key(std::string& text) {
    if (depth_ == 1) {
      if (!names_.insert(text).second) {
        return refuse(fmt::format("the key '{}' twice", printable(text)).c_str());
      }
      metadata_ = text == "__metadata__";
      if (metadata_) return true;
      if (out_.size() == kMaxSafetensors) {
        fault = unsupported_source(kFormat, fmt::format("over {} tensors", kMaxSafetensors));
        return false;
      }
      out_.push_back({.name = text, .dtype = {}, .shape = {}});
      return true;
    }
    if (!keys_.insert(text).second) return refuse("a key of a tensor twice");
    key_ = text;
    if (!metadata_ && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      return refuse("an unknown key of a tensor");
    }
    return true;
  }

  bool end_object() {
    if (depth_-- == 2 && !metadata_ && keys_.size() != 3) return refuse("a tensor without a key");
    return true;
  }

  bool start_array(std::size_t) {
    if (depth_ != 2 || metadata_ || key_ == "dtype") return refuse("a list in a wrong place");
    ++depth_;
    in_list_ = true;
    numbers_ = 0;
    return true;
  }

  bool end_array() {
    --depth_;
    in_list_ = false;
    return key_ == "shape" || numbers_ == 2 || refuse("fewer than two data_offsets");
  }

  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) {
    if (!fault) fault = damaged_source(kFormat, "the head is not valid JSON", at);
    return false;
  }

  bool complete() const { return depth_ == 0; }

 private:
  bool refuse(const char* what) {
    fault = damaged_source(kFormat, fmt::format("the head has {}", what), 0);
    return false;
  }

  std::vector<SafeTensor>& out_;
  int depth_ = 0;  // open objects and lists
  bool in_list_ = false, metadata_ = false;
  int numbers_ = 0;  // numbers seen in data_offsets
  std::string key_;
  std::set<std::string> names_, keys_;
};

}  // namespace

std::optional<Fault> read_safetensors_head(std::vector<SafeTensor>& out, std::string_view json,
                                           std::uint64_t data) {
  Head head(out);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &head)) {
    return head.fault ? head.fault : damaged_source(kFormat, "the head is not valid JSON", 0);
  }
  std::sort(out.begin(), out.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const SafeTensor& tensor : out) {
    if (tensor.begin != at || tensor.end < tensor.begin) {
      return damaged_source(
          kFormat,
          fmt::format("tensor '{}' begins at byte {}, not at {}, where the one "
                      "before ends",
                      printable(tensor.name), with_commas(tensor.begin), with_commas(at)),
          0);
    }
    at = tensor.end;
  }
  if (at == data) return std::nullopt;
  return damaged_source(kFormat,
                        fmt::format("the tensors end at byte {} behind the head, the file at {}",
                                    with_commas(at), with_commas(data)),
                        0);
}

}  // namespace tundish
