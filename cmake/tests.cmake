# For those who work on it: tests beside their sources, and the parts of tests/ and bench/ that are
# written in C++.
enable_testing()
add_executable(unit_tests
  src/main_test.cpp
  src/core/machine/cpu_test.cpp
  src/core/array_type_test.cpp
  src/core/crc32c_test.cpp
  src/core/error_test.cpp
  src/core/fields_json_test.cpp
  src/core/file_test.cpp
  src/core/machine/memory_limit_test.cpp
  src/core/random_test.cpp
  src/core/machine/usable_cpus_test.cpp
  src/system/host_counters_test.cpp
  src/system/host_test.cpp
  src/system/nvml_test.cpp
  src/system/read_rate_test.cpp
  src/system/text_file_test.cpp
  src/environment/checks_test.cpp
  src/optim/element_test.cpp
  src/optim/optimizer_test.cpp
  src/optim/worker_pool_test.cpp
  src/trace/trace_test.cpp
  src/lanes/decode_unit_test.cpp
  src/lanes/pixels_test.cpp
  src/lanes/record_test.cpp
  src/lanes/restore_data_test.cpp
  src/lanes/renderer_test.cpp
  src/lanes/train_test.cpp
  src/lanes/jpeg_maker.cpp
  src/lanes/jpeg_encode_test.cpp
  src/lanes/jpeg_file_test.cpp
  src/lanes/jpeg_unfit_test.cpp
  src/lanes/restore_limits_test.cpp
  src/decode/test_images.cpp
  src/decode/bmp/bmp_test.cpp
  src/decode/decode_test.cpp
  src/decode/orientation/exif_test.cpp
  src/decode/gif/gif_test.cpp
  src/decode/jpeg_test.cpp
  src/decode/npy_test.cpp
  src/decode/png_test.cpp
  src/decode/raw_test.cpp
  src/decode/webp/webp_test.cpp
  src/source/arrays/copy_bytes_test.cpp
  src/source/field_names_test.cpp
  src/source/arrays/array_formats_test.cpp
  src/source/formats/csv_test.cpp
  src/source/chunks/chunk_grid_test.cpp
  src/source/chunks/chunk_memory_test.cpp
  src/source/chunks/chunk_steps_test.cpp
  src/source/decompress_test.cpp
  src/source/disk_cache/cache_record_test.cpp
  src/source/disk_cache/disk_cache_test.cpp
  src/source/formats/file_list_test.cpp
  src/source/formats/chunked/hdf5_heap_test.cpp
  src/source/formats/chunked/hdf5_index_test.cpp
  src/source/formats/image_folder_test.cpp
  src/source/formats/joined_test.cpp
  src/source/formats/npz_test.cpp
  src/source/formats/python/message_test.cpp
  src/source/formats/python/python_samples_test.cpp
  src/source/formats/records/lmdb_test.cpp
  src/source/formats/records/protobuf_test.cpp
  src/source/formats/records/record_index_test.cpp
  src/source/formats/records/recordio_test.cpp
  src/source/formats/records/tfrecord_test.cpp
  src/source/formats/safetensors_test.cpp
  src/source/label_vector_test.cpp
  src/source/labels_test.cpp
  src/source/names_test.cpp
  src/source/number_test.cpp
  src/source/pickle/pickle_test.cpp
  src/source/formats/pth/pth_test.cpp
  src/source/side_index_test.cpp
  src/source/open_test.cpp
  src/source/views/pattern_test.cpp
  src/source/formats/tar/tar_reader_test.cpp
  src/source/formats/tar/tar_shards_test.cpp
  src/source/formats/tar/tar_test.cpp
  src/source/formats/chunked/zarr_metadata_test.cpp
  src/source/formats/chunked/zarr_shard_test.cpp
  src/source/views/choice_test.cpp
  src/source/views/merge_test.cpp
  src/pack/compare_test.cpp
  src/pack/copy/copy_record_test.cpp
  src/pack/salvage/salvage_test.cpp
  src/pack/checksum_test.cpp
  src/pack/write/handover_test.cpp
  src/pack/write/journal_test.cpp
  src/pack/manifest_test.cpp
  src/pack/metadata_test.cpp
  src/pack/output_file_test.cpp
  src/pack/reader_test.cpp
  src/pack/restore_bomb_test.cpp
  src/pack/damage_test.cpp
  src/pack/write/resume_test.cpp
  src/pack/write/writer_test.cpp
  src/augment/plan_test.cpp
  src/augment/pixels/colours/hue_ops_test.cpp
  src/augment/pixels/chains/chain_mix_test.cpp
  src/augment/pixels/levels/level_formula_test.cpp
  src/augment/plan_json_test.cpp
  src/cuda/augment/step_order_test.cpp
  src/augment/pixels/pixel_runner_test.cpp
  src/augment/pixels/warp/warp_test.cpp
  src/augment/cpu/taps_test.cpp
  src/augment/cpu/resample_test.cpp
  src/augment/operations/pixels/colour_draws_test.cpp
  src/augment/operations/geometry_test.cpp
  src/augment/mixing_test.cpp
  src/augment/operations/draw_dirichlet_test.cpp
  src/augment/operations/pad_test.cpp
  src/augment/operations/random_resized_crop_test.cpp
  src/augment/dtype_test.cpp
  src/augment/transforms_test.cpp
  src/augment/transforms_json_test.cpp
  src/augment/cpu/store_test.cpp
  src/augment/pixels/alpha/premultiply_test.cpp
  src/augment/operations/tiny_images_test.cpp
  src/preprocess/preprocessor_test.cpp
  src/preprocess/target_test.cpp
  src/engine/admission_test.cpp
  src/engine/arrays_test.cpp
  src/engine/bad_ledger_test.cpp
  src/engine/bad_samples_test.cpp
  src/memory/budget_test.cpp
  src/memory/cache_policy_test.cpp
  src/engine/gpu/decode_choice_test.cpp
  src/engine/gpu/gpu_maker_test.cpp
  src/engine/deliver_test.cpp
  src/engine/engine_cache_test.cpp
  src/engine/engine_test.cpp
  src/order/next_use_test.cpp
  src/order/order_test.cpp
  src/sample/orientation_test.cpp
  src/engine/resume_test.cpp
  src/sample/lanes_crop_test.cpp
  src/engine/ring_active_test.cpp
  src/engine/ring_interleavings_test.cpp
  src/engine/ring_test.cpp
  src/engine/tuning/cost_model_test.cpp
  src/engine/tuning/tuner_test.cpp
  src/engine/tuning/tuning_rule_test.cpp
  src/engine/tuning_test.cpp
  src/state/loader_options_test.cpp
  src/state/saved_state_test.cpp
  src/state/transforms_difference_test.cpp
  src/engine/batch_rows_test.cpp
  src/memory/sample_cache_test.cpp
  src/sample/sample_test.cpp
  src/order/sampling_test.cpp
  src/order/schedule_test.cpp
  src/monitor/publisher_test.cpp
  src/top/find_loaders_test.cpp
  src/top/frame_text_test.cpp
  src/top/live_server_test.cpp
  src/monitor/wait_histogram_test.cpp
  src/monitor/watchdog_test.cpp
  src/cuda/decode/batch_plan_test.cpp
  src/cuda/decode/pixel_fours_test.cpp
  src/cli/env/environment_report_test.cpp
  src/cli/samples/font_test.cpp
  src/cuda/decode/tiles_test.cpp
  src/cli/text_test.cpp
  src/cli/progress_test.cpp
  src/convert/output_folder_test.cpp
  src/convert/writers_test.cpp
  src/cli/pack/prove_test.cpp
  src/cli/samples/sample_set_test.cpp
  src/cli/info/level_sums_test.cpp
  src/cli/info/size_histogram_test.cpp
  src/cli/view/level_finder_test.cpp
  src/cli/view/step_words_test.cpp
  src/cli/view/html_sheet_test.cpp
)
target_link_libraries(unit_tests PRIVATE cli)
if(TUNDISH_PRECOMPILE)
  target_precompile_headers(cli REUSE_FROM engine)
  target_precompile_headers(unit_tests PRIVATE ${often} <doctest/doctest.h>)
  set_source_files_properties(src/main_test.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
add_test(NAME unit_tests COMMAND unit_tests)
add_library(fail_nth SHARED tests/faults/fail_nth.c)  # preloaded by tests/pack/test_faults.py
target_link_libraries(fail_nth PRIVATE ${CMAKE_DL_LIBS})

add_library(fake_nvml SHARED tests/faults/fake_nvml.c)  # src/system/nvml_test.cpp, tests/diagnosis/test_env.py
target_compile_options(fake_nvml PRIVATE -fno-sanitize=all)  # as the real one; its structs have other names
add_dependencies(unit_tests fake_nvml)
set_source_files_properties(src/system/nvml_test.cpp PROPERTIES COMPILE_DEFINITIONS FAKE_NVML_LIBRARY="$<TARGET_FILE:fake_nvml>")

# Parts of bench/ that are written in C++.
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
if(TARGET CUDA::cudart_static)  # run on a machine with a GPU, by ./dev gpu
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
