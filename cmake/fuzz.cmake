# The fuzz targets: one per parser, fuzz/NAME.cpp with its corpus in fuzz/corpus/NAME.
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/*.cpp)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE engine)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
