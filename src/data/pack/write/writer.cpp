#include "data/pack/write/writer.h"

#include <fmt/format.h>

#include <new>
#include <system_error>

#include "data/pack/metadata.h"
#include "data/pack/own_files.h"
#include "data/pack/write/pack_run.h"
#include "data/pack/write/shard_names.h"

namespace tundish {
namespace {

void check_arguments(const Source& source, const PackOptions& options) {
  const auto refuse = [&](std::string reason) {
    throw Error(ErrorCode::argument, {.file = source.path()}, std::move(reason));
  };
  if (const auto fault = check_schema(source.schema())) refuse(fault->reason);
  const SourcePart& part = options.shard;
  if (part.number >= part.count) {
    refuse(fmt::format("shard {} of {}: shards are counted from 0", part.number, part.count));
  }
  if (part.count > 1 && part.count > source.count()) {
    refuse(fmt::format("{} samples cannot fill {} shards", with_commas(source.count()),
                       with_commas(part.count)));
  }
}

// The files of a dataset appear one by one: an interruption would leave a source of old and new
// ones.
void check_own_files(const std::string& target, const Source& source, const PackOptions& options) {
  std::string own;
  if (options.shard_bytes > 0) own = find_own_shard(source, target);
  if (options.shard.count > 1) own = find_own_file(source, {target});
  if (own.empty()) return;
  throw Error(ErrorCode::argument, {.file = own},
              "it is a file of the source, and would be replaced before all of the source is "
              "packed. Choose another name, and remove the source afterwards");
}

PackReport run(const std::string& target, const Source& source, const PackOptions& options) {
  check_arguments(source, options);
  check_own_files(target, source, options);
  try {
    return PackRun(target, source, options).run();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::no_memory, {.file = target}, "while packing");
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::no_memory, {.file = target}, error.what());  // no thread started
  }
}

}  // namespace

PackReport pack(const std::string& target, const Source& source, const PackOptions& options) {
  PackOptions one = options;
  one.shard_bytes = 0;
  return run(target, source, one);
}

PackReport pack_shards(const std::string& target, const Source& source,
                       const PackOptions& options) {
  if (options.shard_bytes == 0 || options.shard.count != 1) {
    throw Error(ErrorCode::argument, {.file = target},
                "a shard size is missing, or given for one shard of several");
  }
  return run(manifest_name(target), source, options);
}

}  // namespace tundish
