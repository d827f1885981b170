# Precompiled headers save a third of the build time. Builds of wheels do without, so that a
# missing include is found.
if(TUNDISH_PRECOMPILE)
  # ccache requires -fno-pch-timestamp of clang and -fpch-preprocess of g++.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>" $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12's false warnings about "text" + string (GCC bug 105651), which it hides in ordinary standard headers only.
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # CMake's default also includes the header by an absolute path, which ccache cannot make relative: other clones would miss the cache.
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  endif()
  set(often <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <functional> <map> <memory> <mutex>
            <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h>)
endif()

# For all targets, after the folders have listed their sources and the sources have their options.
function(precompile_headers)
  if(NOT TUNDISH_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(engine PRIVATE ${often})
  target_precompile_headers(cli REUSE_FROM engine)
  set_target_properties(tundish PROPERTIES DEFINE_SYMBOL "")  # g++ reuses a header for equal macros only
  target_precompile_headers(tundish REUSE_FROM engine)
  target_precompile_headers(program PRIVATE ${often})
  foreach(source ${engine_sources})  # a precompiled header serves one instruction set only
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
