# Warnings for developers: errors, except where a compiler warns of impossible cases.
if(TUNDISH_DEVELOPER)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra> $<$<COMPILE_LANGUAGE:C,CXX>:-Wconversion>)
  if(NOT (TUNDISH_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))  # instrumented code makes g++ warn of impossible cases
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-Werror> "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)  # false warning of g++ 12 about std::string::insert (GCC bug 105651)
  endif()
endif()
