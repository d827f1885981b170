# The libraries that are linked in, and the copies of their archives with renamed symbols.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt 9 REQUIRED)
add_compile_definitions(XXH_INLINE_ALL)
if(fmt_VERSION VERSION_GREATER_EQUAL 10)
  add_compile_definitions(FMT_HEADER_ONLY)  # src/base/libraries/fmt.cpp serves version 9
endif()

# Statically linked, so that one file runs everywhere. Debian's archives are position
# independent except for stderr, stdin and stdout. A copy with these renamed links into a
# shared library (src/base/machine/standard_streams.c defines the new names).
set(third_party "")
# libwebp allocates through our functions, which enforce a limit (src/codec/decode/webp/webp_memory.h).
set(renamed_webp --redefine-sym malloc=tundish_webp_malloc --redefine-sym calloc=tundish_webp_calloc --redefine-sym free=tundish_webp_free)
foreach(name jpeg png16 webp deflate zstd lz4 lzma bz2 z)
  find_library(ARCHIVE_${name} lib${name}.a REQUIRED)
  set(copy ${CMAKE_BINARY_DIR}/third_party/lib${name}.a)
  add_custom_command(OUTPUT ${copy} DEPENDS ${ARCHIVE_${name}}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/third_party
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=tundish_stderr --redefine-sym stdin=tundish_stdin --redefine-sym stdout=tundish_stdout
            ${renamed_${name}} ${ARCHIVE_${name}} ${copy})
  list(APPEND third_party ${copy})
endforeach()
add_custom_target(third_party_archives DEPENDS ${third_party})
add_library(standard_streams STATIC src/base/machine/standard_streams.c)  # after the archives that need it
