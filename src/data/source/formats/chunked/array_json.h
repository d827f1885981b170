// JSON of array formats, parsed with limits, and what these formats have in common: lists of sides,
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

inline constexpr std::uint64_t kMaxArrayJson = 16u << 20;  // bytes of one file

// At most kMaxArrayJson bytes and 32 levels; the outermost value is an object.
std::optional<Fault> parse_array_json(nlohmann::json& out, Bytes text);

// A list of at most kMaxArraySides whole numbers, none negative.
std::optional<Fault> read_sides(std::vector<std::uint64_t>& out, const nlohmann::json& object,
                                const char* name);

// The text of a member, or of its "id", "name" or "type" when it is an object; empty otherwise.
std::string text_of(const nlohmann::json& object, const char* name);

// One element with this value: a number, true or false, null (0), "NaN", "Infinity", "-Infinity",
// or the element's bits as "0x7fc00000".
std::optional<Fault> read_fill(std::vector<std::byte>& out, ArrayElement element,
                               const nlohmann::json& value);

}  // namespace tundish
