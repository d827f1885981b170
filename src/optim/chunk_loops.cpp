#include "optim/chunk_loops.h"

namespace tundish::optim {

const ChunkLoops& chunk_loops(Cpu set) {
  if (set == Cpu::avx512) return kChunkLoopsAvx512;
  if (set == Cpu::avx2) return kChunkLoopsAvx2;
  return kChunkLoopsBaseline;
}

}  // namespace tundish::optim
