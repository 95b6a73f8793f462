// The table of near-pair kernels of one instruction set; see simd.hpp.
#include "column_costs.hpp"
#include "near_band.hpp"
#include "near_screen.hpp"

#define GPUALIGN_TEXT_OF(name) #name
#define GPUALIGN_TEXT(name) GPUALIGN_TEXT_OF(name)

namespace gpualign::GPUALIGN_ISA {

extern const NearKernels near_kernels;
const NearKernels near_kernels = {
    GPUALIGN_TEXT(GPUALIGN_ISA),
    kVectorBytes,
    kCountsBits,
    counts_allow,
    query_bytes,
    panel_bytes,
    pack_query,
    pack_panel,
    common,
    common_of_pair,
    sketches_allow,
    band_bytes,
    run_band<uint32_t, kOneWord>,
    run_band<uint64_t, kOneWord>,
    run_band<uint64_t, kWide>,
    run_band<uint64_t, kWideFreeEnds>,
    sum_columns,
};

}  // namespace gpualign::GPUALIGN_ISA
