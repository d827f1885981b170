# The machine as it is, and whether it is fit for training: src/system, src/environment. Only the
# program uses them. NVIDIA's library is loaded at run time.
add_library(environment STATIC
  src/system/block_device.cpp
  src/system/cpu_list.cpp
  src/system/data_files.cpp
  src/system/host_cpus.cpp
  src/system/host_memory_state.cpp
  src/system/mounts.cpp
  src/system/nvml.cpp
  src/system/page_cache.cpp
  src/system/read_rate.cpp
  src/system/text_file.cpp
  src/environment/check_cpus.cpp
  src/environment/check_gpu.cpp
  src/environment/check_memory.cpp
  src/environment/check_software.cpp
  src/environment/check_storage.cpp
  src/environment/environment.cpp
  src/environment/read_storage.cpp
)
target_link_libraries(environment PUBLIC engine ${CMAKE_DL_LIBS})
