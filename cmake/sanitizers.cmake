# TUNDISH_SANITIZE and the instrumentation for TUNDISH_FUZZ.
if(TUNDISH_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(TUNDISH_SANITIZE STREQUAL "thread")
  # clang instruments code after optimization, so that tests of floats and instruction sets cover
  # the optimized code (docs/internals/decisions/0007-three-builds-test-everything.md).
  add_compile_options(-fsanitize=thread -O3 -g1)
  add_link_options(-fsanitize=thread)
endif()
if(TUNDISH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
