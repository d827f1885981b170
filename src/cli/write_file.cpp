#include "cli/write_file.h"

#include "data/pack/output_file.h"

namespace tundish::cli {

void write_file(const std::string& target, bool replace, Bytes bytes) {
  OutputFile file(target, replace);
  file.write_at(bytes, 0);
  file.commit(bytes.size());
}

}  // namespace tundish::cli
