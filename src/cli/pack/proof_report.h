// A proof as JSON and as text.
#pragma once

#include "cli/json.h"
#include "cli/pack/prove.h"
#include "cli/shell.h"

namespace tundish::cli {

Json proof_json(const Proof& proof);
void print_proof(const Proof& proof, const Shell& shell);  // a table of three lines

}  // namespace tundish::cli
