// What the bytes of a pack depend on. A journal holds the identity of its pack; an interrupted
// pack goes on only when nothing of it has changed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/pack/write/wire.h"
#include "data/pack/write/writer.h"
#include "data/source/source.h"

namespace tundish {

// In words for messages, each with its value: {"the source", "9f3c..."}, ...
using PackIdentity = std::vector<std::pair<std::string, std::string>>;

// An option that changes bytes is listed in the source of this function.
PackIdentity identity_of(const Source& source, const PackOptions& options);

// The first difference, as a clause: "the source has changed"; of options all that differ:
// "options have changed: codec=keep, was lanes". Empty when there is none.
std::string first_difference(const PackIdentity& before, const PackIdentity& now);

void encode_identity(WireWriter& out, const PackIdentity& identity);
std::optional<PackIdentity> decode_identity(WireReader& in);

}  // namespace tundish
