# The fuzz targets: one per parser, fuzz/NAME.cpp with its corpus in fuzz/corpus/NAME.
set(fuzz_targets array_metadata arrays bmp chunks cifar_pickle csv disk_cache filter gif hdf5_heap hdf5_index jpeg lanes_ingest lanes_record lanes_restore lmdb
    loader_options loader_page manifest npy npz pack_index pack_journal pack_record pickle png pth python_samples recordio safetensors salvage
    saved_state tar tfrecord webp zarr_shard)
foreach(name ${fuzz_targets})
  add_executable(fuzz_${name} fuzz/${name}.cpp)
  target_link_libraries(fuzz_${name} PRIVATE engine)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
