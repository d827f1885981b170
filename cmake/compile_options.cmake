# Options of individual engine sources. Included after all folders have listed their sources.

# One instruction set per source, by file name suffix; src/base/machine/cpu.h selects at run time.
set(avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt)
set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512vnni -mavx512bitalg -mavx512vpopcntdq -mavx512cd
           -mbmi -mbmi2 -mlzcnt -mpopcnt)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)  # false warnings in g++ 12's own headers (GCC bug 105593)
endif()
get_target_property(engine_sources engine SOURCES)
foreach(source ${engine_sources})
  if(source MATCHES "_sse\\.cpp$")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -msse4.2)
  elseif(source MATCHES "_avx2\\.cpp$")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx2}")
  elseif(source MATCHES "_avx512\\.cpp$")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx512}")
  endif()
endforeach()

# SOURCE OPTION...: additional options for one source.
function(add_source_options source)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/${source} APPEND PROPERTY COMPILE_OPTIONS ${ARGN})
endfunction()
add_source_options(base/crc32c_avx512.cpp -mvpclmulqdq -mpclmul -msse4.2)
# Compilers vectorize roots and selects only if errno and floating-point exceptions are ignored.
foreach(source augment/cpu/weights.cpp augment/cpu/weights_avx2.cpp)
  add_source_options(${source} -fno-trapping-math)
endforeach()
foreach(source optim/update_baseline.cpp optim/update_avx2.cpp optim/update_avx512.cpp)
  add_source_options(${source} -fno-math-errno -fno-trapping-math)
endforeach()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/version.cpp PROPERTIES COMPILE_DEFINITIONS TUNDISH_VERSION="${PROJECT_VERSION}")
if(TUNDISH_HAS_CUDA)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/libraries/linked_libraries.cpp
    PROPERTIES COMPILE_DEFINITIONS TUNDISH_CUDA_RUNTIME="${cudart_version}")
endif()

precompile_headers()
