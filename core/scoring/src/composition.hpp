// Substitution scores adjusted to the amino-acid compositions of two proteins.
//
// Let q be the target frequencies of a matrix, p their marginal frequencies, lambda the scale of its scores, and r, c the frequencies of
// the amino acids in the query and in the target.
//
// Adjusted matrices (Yu, Wootton & Altschul 2003; Yu & Altschul 2005; Altschul et al. 2005). The new target frequencies x have the
// marginals r and c and the relative entropy sum x ln(x / (r c)) = 0.44 nats, and of all such frequencies the least divergence from q,
// sum x ln(x / q). Setting the derivatives of the Lagrangian to 0 gives x_ij = u_i v_j q_ij^s with a power s that is the same for all
// pairs. For a given s, u and v follow by scaling rows and columns in turn (Sinkhorn 1967); the relative entropy rises with s, which is
// found by bisection and secants. r and c are estimated with 20 pseudocounts of p.
//
// Scaled matrices (Schaffer et al. 2001). If lambda' is the scale of the matrix for r and c, sum r_i c_j exp(lambda' s_ij) = 1, the scores
// are multiplied by lambda' / lambda, which is raised to 0.5 or cut to 1.
//
// BLAST's rule for the choice (Altschul et al. 2005): scaled if the compositions differ much, one sequence is three times as long as the
// other, and they deviate from p in different directions; else adjusted. Scaled also where no adjusted matrix exists.
//
// Letters that are not amino acids: B, Z and J have the joint frequencies of their two amino acids; X and O the mean score of a row or
// column, and never more than -1/32; U scores as C; * as in the matrix.
#pragma once
#include <array>
#include <cstdint>

namespace gpualign {

constexpr int kAminoAcids = 20;                                                  // A R N D C Q E G H I L K M F P S T W Y V
constexpr int kB = 20, kZ = 21, kX = 22, kU = 23, kO = 24, kJ = 25, kStop = 26;  // codes after the amino acids
constexpr int kProteinLetters = 27;
constexpr int kTableLetters = 32;   // row length of score tables
constexpr int kUnitsPerPoint = 32;  // adjusted scores are integer multiples of 1/32

using Frequencies = std::array<double, kAminoAcids>;
using PairFrequencies = std::array<Frequencies, kAminoAcids>;

// Amino acids of a sequence. count: their number, with U as C; frequencies: of each, adding up to 1 if there are any.
struct Composition {
  int64_t count = 0;
  Frequencies frequencies{};
};

// Counts the amino acids of encoded letters.
Composition composition_of(const uint8_t* codes, int64_t length);

enum class Adjustment { kScale, kAdjust };

// What the scores of a substitution matrix stand for.
struct MatrixModel {
  PairFrequencies targets;  // q, symmetric, adding up to 1
  double lambda;            // nats per score point, without gaps
  int stop, stop_stop;      // scores of * with other letters, and with itself
};

// Frequencies fitted to two compositions. targets: x; nats: ln (x / (r c)); power: s.
struct AdjustedFrequencies {
  PairFrequencies targets, nats;
  double power;
};

// Makes the score tables of pairs of sequences.
class MatrixAdjuster {
 public:
  MatrixAdjuster(const MatrixModel& model, Adjustment adjustment);

  // Writes scores in units of 1/kUnitsPerPoint to table[query letter][target letter], in rows of kTableLetters; other entries are left as
  // they are. Returns false if one of the sequences has no amino acids. lengths: of the sequences, all letters counted.
  bool make_table(const Composition& query, int64_t query_length, const Composition& target, int64_t target_length, int32_t* table) const;

 private:
  bool prefers_scaling(const Composition& query, int64_t query_length, const Composition& target, int64_t target_length) const;
  PairFrequencies powers_of_ratios(double power) const;
  bool adjust_targets(const Frequencies& rows, const Frequencies& columns, AdjustedFrequencies& adjusted) const;
  double scale_ratio(const Frequencies& rows, const Frequencies& columns) const;

  const MatrixModel model_;
  const Adjustment adjustment_;
  Frequencies background_{};  // p
  PairFrequencies nats_{};    // ln (q / (p p))

  // The power for two sequences of background composition, at which the search for that of a pair begins, and (q / (p p)) to that power.
  double first_power_ = 1;
  PairFrequencies first_kernel_{};
};

}  // namespace gpualign
