# The engine: everything below the C interface and the program. Folders in the order of src/layers.md.
include(cmake/source.cmake)
add_library(engine STATIC
  src/core/array_type.cpp
  src/core/buffer.cpp
  src/core/crc32c.cpp
  src/core/crc32c_avx512.cpp
  src/core/error.cpp
  src/core/fields_json.cpp
  src/core/file.cpp
  src/core/libraries/fmt.cpp
  src/core/image.cpp
  src/core/interruption.cpp
  src/core/libraries/linked_libraries.cpp
  src/core/machine/control_groups.cpp
  src/core/machine/cpu.cpp
  src/core/machine/helper_process.cpp
  src/core/machine/mapped_memory.cpp
  src/core/machine/memory_limit.cpp
  src/core/machine/usable_cpus.cpp
  src/core/temporary_file.cpp
  src/core/version.cpp
  src/optim/chunk_loops.cpp
  src/optim/one_step.cpp
  src/optim/optimizer.cpp
  src/optim/run_slowly.cpp
  src/optim/tensor_checks.cpp
  src/optim/update_avx2.cpp
  src/optim/update_avx512.cpp
  src/optim/update_sse.cpp
  src/optim/worker_pool.cpp
  src/trace/chrome_json.cpp
  src/trace/trace.cpp
  src/lanes/block_lists.cpp
  src/lanes/block_lists_avx512.cpp
  src/lanes/blocks_avx2.cpp
  src/lanes/blocks_avx512.cpp
  src/lanes/blocks_sse.cpp
  src/lanes/colour_avx2.cpp
  src/lanes/colour_avx512.cpp
  src/lanes/colour_sse.cpp
  src/lanes/crop_plan.cpp
  src/lanes/decode.cpp
  src/lanes/decode_slowly.cpp
  src/lanes/decode_unit.cpp
  src/lanes/decode_unit_avx2.cpp
  src/lanes/decode_unit_avx512.cpp
  src/lanes/decode_unit_plain.cpp
  src/lanes/decode_unit_slowly.cpp
  src/lanes/encode.cpp
  src/lanes/expand.cpp
  src/lanes/expand_avx2.cpp
  src/lanes/expand_avx512.cpp
  src/lanes/forward_dct.cpp
  src/lanes/geometry.cpp
  src/lanes/idct.cpp
  src/lanes/jpeg_codes.cpp
  src/lanes/jpeg_encode.cpp
  src/lanes/jpeg_marker_state.cpp
  src/lanes/jpeg_markers.cpp
  src/lanes/jpeg_put_together.cpp
  src/lanes/jpeg_reader.cpp
  src/lanes/jpeg_restore.cpp
  src/lanes/jpeg_runs.cpp
  src/lanes/jpeg_scan.cpp
  src/lanes/jpeg_scan_progressive.cpp
  src/lanes/jpeg_settle.cpp
  src/lanes/jpeg_strip.cpp
  src/lanes/jpeg_take_apart.cpp
  src/lanes/pixels.cpp
  src/lanes/record.cpp
  src/lanes/renderer.cpp
  src/lanes/restore_data.cpp
  src/lanes/statistics.cpp
  src/lanes/stored_tables.cpp
  src/lanes/symbols.cpp
  src/lanes/tables.cpp
  src/lanes/train.cpp
  src/lanes/transcode.cpp
  src/decode/bmp/bmp.cpp
  src/decode/bmp/bmp_header.cpp
  src/decode/bmp/bmp_runs.cpp
  src/decode/decode.cpp
  src/decode/decode_bytes.cpp
  src/decode/orientation/exif.cpp
  src/decode/gif/gif.cpp
  src/decode/gif/gif_header.cpp
  src/decode/gif/gif_pixels.cpp
  src/decode/jpeg.cpp
  src/decode/jpeg_header.cpp
  src/decode/npy.cpp
  src/decode/npy_head.cpp
  src/decode/png.cpp
  src/decode/png_expand.cpp
  src/decode/png_header.cpp
  src/decode/orientation/png_orientation.cpp
  src/decode/png_inflate.cpp
  src/decode/png_transparency.cpp
  src/decode/join_planes.cpp
  src/decode/join_planes_sse.cpp
  src/decode/raw.cpp
  src/decode/png_unfilter.cpp
  src/decode/sniff.cpp
  src/decode/webp/webp.cpp
  src/decode/webp/webp_header.cpp
  src/decode/webp/webp_memory.cpp
  ${source_files}
  src/pack/checksum.cpp
  src/pack/compare.cpp
  src/pack/format.cpp
  src/pack/index.cpp
  src/pack/metadata.cpp
  src/pack/open.cpp
  src/pack/manifest.cpp
  src/pack/output_file.cpp
  src/pack/output_target.cpp
  src/pack/reader.cpp
  src/pack/salvage/partial_pack.cpp
  src/pack/salvage/piece_search.cpp
  src/pack/salvage/salvage.cpp
  src/pack/salvage/salvaged_source.cpp
  src/pack/salvage/scan.cpp
  src/pack/salvage/sections.cpp
  src/pack/verify.cpp
  src/pack/write/appender.cpp
  src/pack/write/checkpoint.cpp
  src/pack/copy/copy_record.cpp
  src/pack/write/handover.cpp
  src/pack/write/identity.cpp
  src/pack/write/journal.cpp
  src/pack/write/make_tables.cpp
  src/pack/write/name_blocks.cpp
  src/pack/write/pack_run.cpp
  src/pack/write/pack_run_resume.cpp
  src/pack/write/partial_file.cpp
  src/pack/write/prepare.cpp
  src/pack/write/preprocess.cpp
  src/pack/write/store_new_image.cpp
  src/pack/write/preparers.cpp
  src/pack/write/provenance.cpp
  src/pack/write/row.cpp
  src/pack/write/writer.cpp
  src/augment/cpu/layout.cpp
  src/augment/cpu/passes.cpp
  src/augment/cpu/passes_avx2.cpp
  src/augment/cpu/passes_avx512.cpp
  src/augment/cpu/passes_pairs.cpp
  src/augment/cpu/passes_sse.cpp
  src/augment/cpu/passes_x_avx512.cpp
  src/augment/cpu/passes_y_avx512.cpp
  src/augment/pixels/colours/colours.cpp
  src/augment/pixels/colours/colours_avx2.cpp
  src/augment/pixels/colours/colours_avx512.cpp
  src/augment/pixels/colours/colours_slowly.cpp
  src/augment/pixels/levels/level_range.cpp
  src/augment/pixels/levels/level_formula.cpp
  src/augment/pixels/levels/level_formula_avx2.cpp
  src/augment/pixels/levels/level_formula_avx512.cpp
  src/augment/pixels/levels/level_range_avx2.cpp
  src/augment/pixels/levels/level_range_avx512.cpp
  src/augment/pixels/levels/level_table.cpp
  src/augment/pixels/levels/level_table_avx2.cpp
  src/augment/pixels/levels/level_table_avx512.cpp
  src/augment/pixels/blur/blur.cpp
  src/augment/pixels/blur/blur_slowly.cpp
  src/augment/pixels/blur/box_avx2.cpp
  src/augment/pixels/blur/box_avx512.cpp
  src/augment/pixels/blur/box_plain.cpp
  src/augment/pixels/blur/gaussian_avx2.cpp
  src/augment/pixels/blur/gaussian_avx512.cpp
  src/augment/pixels/blur/gaussian_plain.cpp
  src/augment/pixels/blur/gaussian_taps.cpp
  src/augment/pixels/blur/jpeg_round_trip.cpp
  src/augment/pixels/blur/jpeg_slowly.cpp
  src/augment/pixels/chains/chain_mix.cpp
  src/augment/pixels/noise/noise.cpp
  src/augment/pixels/noise/noise_avx2.cpp
  src/augment/pixels/noise/noise_avx512.cpp
  src/augment/pixels/noise/noise_plain.cpp
  src/augment/pixels/noise/normal_table.cpp
  src/augment/pixels/pixel_runner.cpp
  src/augment/pixels/pixel_runner_slowly.cpp
  src/augment/pixels/tensors/tensor_rows_avx2.cpp
  src/augment/pixels/tensors/tensor_rows_plain.cpp
  src/augment/pixels/tensors/tensors.cpp
  src/augment/pixels/tensors/tensors_slowly.cpp
  src/augment/pixels/warp/warp.cpp
  src/augment/pixels/warp/warp_avx2.cpp
  src/augment/pixels/warp/warp_avx512.cpp
  src/augment/pixels/warp/warp_plain.cpp
  src/augment/pixels/warp/warp_slowly.cpp
  src/augment/pixels/colours/sharpness.cpp
  src/augment/pixels/colours/sharpness_avx2.cpp
  src/augment/pixels/colours/sharpness_avx512.cpp
  src/augment/pixels/levels/resize_16.cpp
  src/augment/pixels/alpha/premultiply.cpp
  src/augment/pixels/levels/statistics.cpp
  src/augment/mix_rows.cpp
  src/augment/cpu/plan_runner.cpp
  src/augment/cpu/rgba/rgba_runner.cpp
  src/augment/cpu/table_formula.cpp
  src/augment/cpu/table_formula_avx2.cpp
  src/augment/cpu/table_formula_avx512.cpp
  src/augment/cpu/resample.cpp
  src/augment/cpu/resample_bytes.cpp
  src/augment/cpu/resample_slowly.cpp
  src/augment/cpu/row_split.cpp
  src/augment/cpu/row_split_sse.cpp
  src/augment/cpu/store.cpp
  src/augment/cpu/taps.cpp
  src/augment/cpu/weights.cpp
  src/augment/cpu/weights_avx2.cpp
  src/augment/dtype.cpp
  src/augment/operations/policies/aug_mix.cpp
  src/augment/operations/policies/auto_augment.cpp
  src/augment/operations/draw_dirichlet.cpp
  src/augment/operations/warps/affine_matrix.cpp
  src/augment/operations/warps/angle_range.cpp
  src/augment/operations/warps/elastic_transform.cpp
  src/augment/operations/center_crop.cpp
  src/augment/operations/five_crop.cpp
  src/augment/operations/mixing/mixup.cpp
  src/augment/operations/mixing/timm_mixup.cpp
  src/augment/operations/crop_or_pad.cpp
  src/augment/operations/policies/containers.cpp
  src/augment/operations/pixels/color_jitter.cpp
  src/augment/erase_row.cpp
  src/augment/operations/pixels/gaussian_blur.cpp
  src/augment/operations/normalize.cpp
  src/augment/operations/pad.cpp
  src/augment/operations/pad_to.cpp
  src/augment/operations/policies/policy_ops.cpp
  src/augment/operations/policies/rand_augment.cpp
  src/augment/operations/warps/random_affine.cpp
  src/augment/operations/random_crop.cpp
  src/augment/operations/pixels/random_erasing.cpp
  src/augment/operations/random_horizontal_flip.cpp
  src/augment/operations/warps/random_perspective.cpp
  src/augment/operations/pixels/random_photometric_distort.cpp
  src/augment/operations/random_resized_crop.cpp
  src/augment/operations/random_sizes.cpp
  src/augment/operations/random_vertical_flip.cpp
  src/augment/operations/resize.cpp
  src/augment/operations/resize_keep_ratio.cpp
  src/augment/operations/to_dtype.cpp
  src/augment/operations/policies/timm_auto_augment.cpp
  src/augment/operations/policies/timm_config.cpp
  src/augment/operations/policies/timm_ops.cpp
  src/augment/operations/policies/timm_rand_augment.cpp
  src/augment/operations/pixels/timm_random_erasing.cpp
  src/augment/operations/trim_border.cpp
  src/augment/operations/policies/trivial_augment_wide.cpp
  src/augment/pixel_table.cpp
  src/augment/mixing.cpp
  src/augment/plan.cpp
  src/augment/plan_json.cpp
  src/augment/transforms.cpp
  src/augment/transforms_json.cpp
  src/order/alias_table.cpp
  src/order/next_use.cpp
  src/order/order.cpp
  src/order/sampling.cpp
  src/order/schedule.cpp
  src/memory/budget.cpp
  src/memory/cache_policy.cpp
  src/memory/memory_plan.cpp
  src/memory/page_pool.cpp
  src/memory/sample_bytes.cpp
  src/memory/sample_cache.cpp
  src/monitor/loader_page.cpp
  src/monitor/meter.cpp
  src/monitor/publisher.cpp
  src/monitor/watchdog.cpp
  src/state/loader_options.cpp
  src/state/saved_state.cpp
  src/state/transforms_difference.cpp
  src/cuda/decode/batch_plan.cpp
  src/cuda/decode/batch_slowly.cpp
  src/cuda/decode/decode_tables.cpp
  src/cuda/decode/tiles.cpp
  src/sample/admission.cpp
  src/sample/arrays.cpp
  src/sample/cached.cpp
  src/sample/orientation.cpp
  src/sample/sample.cpp
  src/sample/sample_timer.cpp
  src/preprocess/encode_npy.cpp
  src/preprocess/encode_png.cpp
  src/preprocess/options.cpp
  src/preprocess/preprocessor.cpp
  src/preprocess/resizer.cpp
  src/preprocess/target.cpp
  src/engine/bad_ledger.cpp
  src/engine/batch_rows.cpp
  src/engine/cpu_maker.cpp
  src/engine/gpu/decode_choice.cpp
  src/engine/deliver.cpp
  src/engine/engine.cpp
  src/engine/engine_cache.cpp
  src/engine/engine_memory.cpp
  src/engine/mixer.cpp
  src/engine/engine_setup.cpp
  src/engine/engine_stats.cpp
  src/engine/engine_tuning.cpp
  src/engine/gpu/gpu_delivery.cpp
  src/engine/gpu/steps_left.cpp
  src/engine/gpu/gpu_maker.cpp
  src/engine/gpu/gpu_mixes.cpp
  src/engine/replay.cpp
  src/engine/ring.cpp
  src/engine/tuning/cost_model.cpp
  src/engine/tuning/tuner.cpp
  src/engine/tuning/tuning_rule.cpp
)
# One instruction set per file; src/core/machine/cpu.h says which of them may run.
set_source_files_properties(src/augment/cpu/passes_sse.cpp src/augment/cpu/row_split_sse.cpp src/decode/join_planes_sse.cpp src/lanes/blocks_sse.cpp src/lanes/colour_sse.cpp PROPERTIES COMPILE_OPTIONS "-msse4.2")
set_source_files_properties(src/augment/pixels/warp/warp_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2")
set_source_files_properties(src/augment/pixels/blur/box_avx2.cpp src/augment/pixels/blur/gaussian_avx2.cpp src/augment/pixels/noise/noise_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2")
set_source_files_properties(src/augment/cpu/passes_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2")
set_source_files_properties(src/augment/pixels/colours/colours_avx2.cpp src/augment/pixels/levels/level_formula_avx2.cpp src/augment/pixels/levels/level_range_avx2.cpp src/augment/pixels/levels/level_table_avx2.cpp src/augment/pixels/colours/sharpness_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2")
set_source_files_properties(src/augment/cpu/weights.cpp PROPERTIES COMPILE_OPTIONS "-fno-trapping-math")
set_source_files_properties(src/augment/cpu/weights_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-fno-trapping-math")
set_source_files_properties(src/augment/cpu/table_formula_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
set_source_files_properties(src/augment/pixels/tensors/tensor_rows_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
set_source_files_properties(
  src/lanes/blocks_avx2.cpp
  src/lanes/colour_avx2.cpp
  src/lanes/decode_unit_avx2.cpp
  src/lanes/expand_avx2.cpp
  PROPERTIES COMPILE_OPTIONS "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512vnni -mavx512bitalg -mavx512vpopcntdq -mavx512cd -mbmi -mbmi2 -mlzcnt -mpopcnt)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)  # wrong in g++ 12's own headers (GCC bug 105593)
endif()
set_source_files_properties(
  src/augment/cpu/passes_avx512.cpp
  src/augment/cpu/passes_x_avx512.cpp
  src/augment/cpu/passes_y_avx512.cpp
  src/augment/cpu/table_formula_avx512.cpp
  src/augment/pixels/colours/colours_avx512.cpp
  src/augment/pixels/levels/level_formula_avx512.cpp
  src/augment/pixels/levels/level_range_avx512.cpp
  src/augment/pixels/levels/level_table_avx512.cpp
  src/augment/pixels/colours/sharpness_avx512.cpp
  src/augment/pixels/blur/box_avx512.cpp
  src/augment/pixels/blur/gaussian_avx512.cpp
  src/augment/pixels/noise/noise_avx512.cpp
  src/lanes/block_lists_avx512.cpp
  src/lanes/blocks_avx512.cpp
  src/lanes/colour_avx512.cpp
  src/lanes/decode_unit_avx512.cpp
  src/lanes/expand_avx512.cpp
  PROPERTIES COMPILE_OPTIONS "${avx512}")
set_source_files_properties(src/augment/pixels/warp/warp_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
set_source_files_properties(src/core/crc32c_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512};-mvpclmulqdq;-mpclmul;-msse4.2")
# Roots and selects become registers only where nothing watches errno and exceptions of floats.
set(registers -fno-math-errno -fno-trapping-math)
set_source_files_properties(src/optim/update_sse.cpp PROPERTIES COMPILE_OPTIONS "${registers}")
set_source_files_properties(src/optim/update_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;${registers}")
set_source_files_properties(src/optim/update_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512};${registers}")
target_include_directories(engine PUBLIC src include)
set_source_files_properties(src/core/version.cpp PROPERTIES COMPILE_DEFINITIONS TUNDISH_VERSION="${PROJECT_VERSION}")
target_link_libraries(engine PUBLIC ${third_party} standard_streams Threads::Threads nlohmann_json::nlohmann_json)
add_dependencies(engine third_party_archives)

# Precompiled headers, of the sanitizers' builds alone: a third of their time. The release build
# goes without, so that a source which forgets an include is found.
if(TUNDISH_PRECOMPILE)
  set(often <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <functional> <map> <memory> <mutex>
            <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)
  target_precompile_headers(engine PRIVATE ${often})
  get_target_property(sources engine SOURCES)
  foreach(source ${sources})  # a header was compiled for one instruction set
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endif()
