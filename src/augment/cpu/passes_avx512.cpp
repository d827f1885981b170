// The Passes table for AVX-512.
#include "augment/cpu/passes_avx512.h"

namespace tundish {

const Passes kPassesAvx512 = {.rows = passes_avx512::kRows,
                              .bytes_per_sample = 4,
                              .row_slack = 192,
                              .table_x_bytes = passes_avx512::table_x_bytes,
                              .make_table_x = passes_avx512::make_table_x,
                              .table_y_bytes = passes_avx512::table_y_bytes,
                              .make_table_y = passes_avx512::make_table_y,
                              .pass_x = passes_avx512::pass_x,
                              .pass_y = passes_avx512::pass_y};

}  // namespace tundish
