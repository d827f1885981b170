// The inputs that determine the bytes of a pack. A journal stores the identity of its pack; an
// interrupted pack resumes only if its identity is unchanged.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/pack/write/wire.h"
#include "data/pack/write/writer.h"
#include "data/source/source.h"

namespace tundish {

// Names for messages, each with its value: {"the source", "9f3c..."}, ...
using PackIdentity = std::vector<std::pair<std::string, std::string>>;

// The implementation lists every option that changes bytes.
PackIdentity identity_of(const Source& source, const PackOptions& options);

// Returns the first difference as a clause: "the source has changed". For options, lists all that
// differ: "options have changed: codec=keep, was lanes". Empty if the identities are equal.
std::string first_difference(const PackIdentity& before, const PackIdentity& now);

void encode_identity(WireWriter& out, const PackIdentity& identity);
std::optional<PackIdentity> decode_identity(WireReader& in);

}  // namespace tundish
