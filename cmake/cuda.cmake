# The CUDA part, when nvcc is found; callers do not know the difference.
if(TUNDISH_CUDA)
  find_package(CUDAToolkit QUIET)
endif()
if(TUNDISH_CUDA AND CUDAToolkit_FOUND)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  enable_language(CUDA)
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  add_library(cuda_part STATIC
    src/cuda/runtime/pinned.cpp
    src/cuda/runtime/runtime.cpp
    src/cuda/runtime/stream_clock.cpp
    src/cuda/decode/decoder.cpp
    src/cuda/array_uploader.cpp
    src/cuda/gpu_uploader.cpp
    src/cuda/decode/resident_pack.cpp
    src/cuda/optim/gpu_optimizer.cpp
    src/cuda/augment/finish.cu
    src/cuda/augment/mix.cu
    src/cuda/augment/pixel_steps.cu
    src/cuda/decode/gather.cu
    src/cuda/decode/weights.cu
    src/cuda/decode/units.cu
    src/cuda/decode/output.cu
    src/cuda/optim/begin.cu
    src/cuda/optim/update.cu
  )
  # Machine code for what is common, and for newer GPUs the form that their driver compiles.
  set_target_properties(cuda_part PROPERTIES CUDA_ARCHITECTURES "${TUNDISH_CUDA_ARCHITECTURES}")
  target_link_libraries(cuda_part PUBLIC engine CUDA::cudart_static)
  # CUDART_VERSION is 13000 for 13.0; the toolkit's own version is that of nvcc.
  find_file(CUDART_HEADER cuda_runtime_api.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH REQUIRED)
  file(STRINGS ${CUDART_HEADER} cudart_version REGEX "#define CUDART_VERSION ")
  string(REGEX REPLACE ".* ([0-9]+)0([0-9])0.*" "\\1.\\2" cudart_version "${cudart_version}")
  set_source_files_properties(src/core/libraries/linked_libraries.cpp PROPERTIES COMPILE_DEFINITIONS TUNDISH_CUDA_RUNTIME="${cudart_version}")
else()
  add_library(cuda_part STATIC src/cuda/no_cuda.cpp)
  target_link_libraries(cuda_part PUBLIC engine)
endif()
