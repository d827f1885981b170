// Parses the JSON of array formats with limits, and reads common elements: lists of sides,
// types, fill values. Faults are source_damaged; reasons do not name the format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/array_type.h"
#include "base/bytes.h"
#include "base/error.h"

namespace tundish {

inline constexpr std::uint64_t kMaxArrayJson = 16u << 20;  // bytes per file

// Accepts at most kMaxArrayJson bytes and 32 levels; the outermost value must be an object. Keeps
// only the members that describe an array, with at most 10,000 values.
std::optional<Fault> parse_array_json(nlohmann::json& out, Bytes text);

// Reads a list of at most kMaxArraySides whole numbers, none negative.
std::optional<Fault> read_sides(std::vector<std::uint64_t>& out, const nlohmann::json& object,
                                const char* name);

// Returns the text of a member, or of its "id", "name" or "type" if it is an object; else empty.
std::string text_of(const nlohmann::json& object, const char* name);

// Reads one element with this value: a number, true, false, null (0), "NaN", "Infinity",
// "-Infinity", or the element's bits as "0x7fc00000".
std::optional<Fault> read_fill(std::vector<std::byte>& out, ArrayElement element,
                               const nlohmann::json& value);

}  // namespace tundish
