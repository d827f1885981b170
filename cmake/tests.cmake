# For developers: tests beside their sources, and the C++ parts of tests/ and bench/.
# Included if TUNDISH_DEVELOPER is set.
enable_testing()
set_target_properties(unit_tests PROPERTIES EXCLUDE_FROM_ALL OFF)
target_link_libraries(unit_tests PRIVATE cli)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(unit_tests PRIVATE -O1)  # the tests themselves; the engine stays at -O3
endif()
if(TUNDISH_PRECOMPILE)
  target_precompile_headers(unit_tests PRIVATE ${often} <doctest/doctest.h>)
  set_source_files_properties(src/main_test.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
add_test(NAME unit_tests COMMAND unit_tests)
add_library(fail_nth SHARED tests/faults/fail_nth.c)  # preloaded by tests/pack/test_faults.py
target_link_libraries(fail_nth PRIVATE ${CMAKE_DL_LIBS})

add_library(fake_nvml SHARED tests/faults/fake_nvml.c)  # src/base/machine/nvml_test.cpp, tests/diagnosis/test_env.py
target_compile_options(fake_nvml PRIVATE -fno-sanitize=all)  # like the real library; its structs have other names
add_dependencies(unit_tests fake_nvml)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/machine/nvml_test.cpp PROPERTIES COMPILE_DEFINITIONS FAKE_NVML_LIBRARY="$<TARGET_FILE:fake_nvml>")

# The C++ parts of bench/.
add_executable(bench_augment bench/augment/augment.cpp)
target_link_libraries(bench_augment PRIVATE engine)
add_executable(bench_autotune bench/autotune/autotune.cpp)
target_link_libraries(bench_autotune PRIVATE engine)
add_executable(bench_cache bench/cache/cache.cpp bench/cache/known_order.cpp bench/cache/lru.cpp)
target_link_libraries(bench_cache PRIVATE engine)
add_executable(bench_decode bench/decode/decode.cpp)
target_link_libraries(bench_decode PRIVATE engine)
add_executable(bench_lanes bench/lanes/lanes.cpp bench/lanes/partial_decoder.cpp
                           bench/lanes/turbo.cpp)
target_link_libraries(bench_lanes PRIVATE engine)
add_executable(bench_load bench/load/turbo_full.cpp)
target_link_libraries(bench_load PRIVATE engine)
add_executable(bench_png bench/png/png.cpp)
target_link_libraries(bench_png PRIVATE engine)
add_executable(bench_resize bench/resize/resize.cpp)
target_link_libraries(bench_resize PRIVATE engine)
add_executable(make_samples bench/common/make_samples.cpp)
target_link_libraries(make_samples PRIVATE cli)
if(TARGET CUDA::cudart_static)  # run by ./dev gpu on a machine with a GPU
  add_executable(check_decode tests/gpu/check_decode.cpp)
  target_link_libraries(check_decode PRIVATE cuda_part)
  add_executable(check_upload tests/gpu/check_upload.cpp)
  add_executable(check_optim tests/gpu/check_optim.cpp)
  add_executable(bench_gpu_decode bench/gpu_decode/gpu_decode.cpp bench/gpu_decode/batches.cpp
                                  bench/gpu_decode/time_gpu.cpp bench/gpu_decode/time_host.cpp)
  add_executable(bench_gpu_augment bench/gpu_augment/gpu_augment.cpp)
  foreach(program check_upload check_optim bench_gpu_decode bench_gpu_augment)
    target_link_libraries(${program} PRIVATE cuda_part)
  endforeach()
  foreach(program check_decode check_upload check_optim bench_gpu_decode bench_gpu_augment)
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc)
  endforeach()
endif()
