#include "optim/update_chunks.h"

namespace tundish::optim {

const ChunkLoops kChunkLoopsSse = kLoops;

}  // namespace tundish::optim
