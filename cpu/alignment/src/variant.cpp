// The table of all alignment kernels for one instruction set. CMakeLists.txt compiles this file once per variant, named by GPUALIGN_ISA.
#include "band_lanes.hpp"
#include "banded.hpp"
#include "bitsliced.hpp"
#include "box.hpp"
#include "difference.hpp"
#include "grid.hpp"
#include "kernels.hpp"
#include "local.hpp"
#include "myers.hpp"
#include "query_slices.hpp"
#include "sliced_grid.hpp"
#include "striped.hpp"
#include "wavefront.hpp"

#define GPUALIGN_STRING_(x) #x
#define GPUALIGN_STRING(x) GPUALIGN_STRING_(x)

namespace gpualign::GPUALIGN_ISA {

extern const Kernels kernels;
const Kernels kernels = {
    GPUALIGN_STRING(GPUALIGN_ISA),
    kVectorBytes,
    kTernaryLogic,
    MyersKernel<2>::kStripRows,
    &difference<uint8_t>,
    &difference<uint16_t>,
    &difference<uint32_t>,
    &bitsliced,
    query_slices,
    kSliceShape,
    &myers,
    &wavefront,
    sizeof(WavefrontKernel<true>::Pass),
    &grid_forward<uint8_t>,
    &grid_forward<uint16_t>,
    &grid_forward<uint32_t>,
    &grid_tile<uint8_t>,
    &grid_tile<uint16_t>,
    &grid_tile<uint32_t>,
    &sliced_grid,
    &sliced_edges,
    &word_tiles,
    &wavefront_grid,
    kWavefrontDepth,
    &banded,
    &band_lanes,
    &band_lanes_bytes,
    {&local<int8_t, false>, &local<int16_t, false>, &local<int32_t, false>, &local<int64_t, false>},
    {&local<int8_t, true>, &local<int16_t, true>, &local<int32_t, true>, &local<int64_t, true>},
    {&striped<int8_t, false>, &striped<int16_t, false>, &striped<int32_t, false>, &striped<int64_t, false>},
    {&striped<int8_t, true>, &striped<int16_t, true>, &striped<int32_t, true>, &striped<int64_t, true>},
    {&box<int16_t>, &box<int32_t>},
};

}  // namespace gpualign::GPUALIGN_ISA
