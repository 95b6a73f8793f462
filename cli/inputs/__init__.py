"""What commands read that is no sequence: arrays, matrices, lists of pairs, calls."""
