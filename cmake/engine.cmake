# The engine: everything below the C interface and the program. Each folder of src/ lists its own
# sources in its CMakeLists.txt; this file defines how they are compiled.
add_library(engine STATIC)
target_include_directories(engine PUBLIC src include)
target_link_libraries(engine PUBLIC ${third_party} standard_streams Threads::Threads nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
add_dependencies(engine third_party_archives)
