# The machine as it is, and whether it is fit for training: src/system, src/environment; the live view: src/top. Only the
# program uses them. NVIDIA's library is loaded at run time.
add_library(environment STATIC
  src/system/block_device.cpp
  src/system/cpu_list.cpp
  src/system/data_files.cpp
  src/system/host_counters.cpp
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
  src/top/find_loaders.cpp
  src/top/frame_text.cpp
  src/top/http_request.cpp
  src/top/live_page.cpp
  src/top/live_server.cpp
  src/top/snapshot.cpp
  src/top/snapshot_json.cpp
)
target_link_libraries(environment PUBLIC engine ${CMAKE_DL_LIBS})
