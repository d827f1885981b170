// Implements the resident packs of include/tundish.h: lanes records kept in GPU memory.
#include <unistd.h>

#include "capi/call.h"
#include "capi/handles.h"

using namespace tundish;

tundish_resident* tundish_resident_new(const tundish_source* source, int32_t device) try {
  const int image = source->source->schema().find(FieldType::image);
  return new tundish_resident{::getpid(),
                              std::make_shared<cuda::ResidentPack>(device, source->source, image)};
} catch (...) {
  return failed(nullptr);
}

int32_t tundish_resident_load(tundish_resident* resident, uint64_t samples) try {
  return resident->pack->load(samples) ? TUNDISH_OK : TUNDISH_END;
} catch (...) {
  return failed(TUNDISH_ERROR);
}

uint64_t tundish_resident_bytes(const tundish_resident* resident) {
  return resident->pack->bytes();
}

uint64_t tundish_resident_loaded(const tundish_resident* resident) {
  return resident->pack->loaded();
}

void tundish_resident_free(tundish_resident* resident) {
  if (resident && resident->process == ::getpid()) delete resident;
}
