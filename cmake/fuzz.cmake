# The fuzz targets: one per parser, fuzz/NAME.cpp with its corpus in fuzz/corpus/NAME.
set(fuzz_targets arrays csv jpeg lanes_ingest lanes_record lanes_restore loader_options npy npz pack_index pack_record png safetensors saved_state tar)
foreach(name ${fuzz_targets})
  add_executable(fuzz_${name} fuzz/${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE engine)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
