// Sums over sites of a term that depends on the two genotypes of a pair, for one instruction set. Only sites at which both samples have
// calls count. Terms are integers, so the sums are exact in any order. See core/distance/grm.py for the terms.
//
// Most genotypes are homozygous for the first allele. So for 64 sites and a block of columns, a table holds the change that each site makes
// to the sums of these columns if the row has another genotype, or no call, instead of that one. Only such sites of a row are visited. A
// row of the table consists of whole vectors, and the sums of a block of columns stay in registers.
#pragma once
#include "cpu/src/simd.hpp"
#include "distance.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kTableColumns = 64;
constexpr int kTableSites = 64;
constexpr int kSums = 8;  // vectors of sums in registers

struct RelationshipTable {
  // added: [one second allele, two, no call][site][column]. none: for each column the sum over its sites for rows with no second allele.
  alignas(64) uint64_t added[3 * kTableSites][kTableColumns];
  uint64_t none[kTableColumns];
};

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Fills the table for the 64 sites of a word and the columns from `column` on; those beyond the last column add nothing.
static void fill(RelationshipTable& table, const RelationshipTile& tile, int64_t word, int64_t column) {
  const int64_t sites = tile.sample_words * 64, columns = smaller(kTableColumns, tile.column_stop - column);
  // Terms of a site for genotype 0, 1, 2 or none of the column.
  uint64_t by_genotype[3][kTableSites][4], of_none[kTableSites][4];
  for (int s = 0; s < kTableSites; s++) {
    const auto term = [&](int x, int y) { return static_cast<uint64_t>(tile.terms[(3 * x + y) * sites + 64 * word + s]); };
    for (int y = 0; y < 3; y++) {
      of_none[s][y] = term(0, y);
      by_genotype[0][s][y] = term(1, y) - term(0, y);
      by_genotype[1][s][y] = term(2, y) - term(0, y);
      by_genotype[2][s][y] = -term(0, y);
    }
    of_none[s][3] = by_genotype[0][s][3] = by_genotype[1][s][3] = by_genotype[2][s][3] = 0;
  }
  for (int c = 0; c < kTableColumns; c++) {
    const int64_t at = (column + c) * tile.sample_words + word;
    const bool exists = c < columns;
    const uint64_t one = exists ? tile.one[at] : 0, two = exists ? tile.two[at] : 0;
    const uint64_t called = !exists ? 0 : tile.called ? tile.called[at] : ~uint64_t{0};
    for (int s = 0; s < kTableSites; s++) {
      const int y = called >> s & 1 ? static_cast<int>((one >> s & 1) + 2 * (two >> s & 1)) : 3;
      for (int x = 0; x < 3; x++) table.added[x * kTableSites + s][c] = by_genotype[x][s][y];
      table.none[c] += of_none[s][y];
    }
  }
}

static void relate(const RelationshipTile& tile) {
  RelationshipTable table;
  for (int64_t column = tile.column_start; column < tile.column_stop; column += kTableColumns) {
    const int64_t columns = smaller(kTableColumns, tile.column_stop - column);
    const int64_t row_stop = tile.upper ? smaller(tile.row_stop, column + columns) : tile.row_stop;
    const auto out_row = [&](int64_t row) { return tile.out + (row - tile.row_start) * tile.out_stride + column - tile.column_start; };
    if (row_stop <= tile.row_start) continue;
    std::memset(table.none, 0, sizeof table.none);
    for (int64_t word = 0; word < tile.words; word++) {
      fill(table, tile, word, column);
      for (int64_t row = tile.row_start; row < row_stop; row++) {
        const int64_t at = row * tile.sample_words + word;
        int visited[kTableSites], count = 0;  // at most one entry per site
        const uint64_t others[3] = {tile.one[at], tile.two[at], tile.called ? ~tile.called[at] : 0};
        for (int x = 0; x < 3; x++)
          for (uint64_t left = others[x]; left; left &= left - 1) visited[count++] = x * kTableSites + __builtin_ctzll(left);
        uint64_t sums[kTableColumns];
        for (int first = 0; first < kTableColumns; first += kSums * kWords) {
          Words held[kSums] = {};
          for (int k = 0; k < count; k++)
            for (int v = 0; v < kSums; v++) held[v] += load(&table.added[visited[k]][first + v * kWords]);
          __builtin_memcpy(sums + first, held, sizeof held);
        }
        int64_t* const out = out_row(row);
        for (int64_t c = 0; c < columns; c++) out[c] = static_cast<int64_t>(static_cast<uint64_t>(out[c]) + sums[c]);
      }
    }
    for (int64_t row = tile.row_start; row < row_stop; row++) {
      int64_t* const out = out_row(row);
      for (int64_t c = 0; c < columns; c++) out[c] = static_cast<int64_t>(static_cast<uint64_t>(out[c]) + table.none[c]);
    }
  }
}

}  // namespace gpualign::GPUALIGN_ISA
