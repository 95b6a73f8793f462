"""Trees built from distances between records. Pure: arrays in, arrays and text out. scipy computes UPGMA and spanning trees."""
