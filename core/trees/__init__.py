"""Trees of records, from their distances. Pure: arrays in, arrays and text out. scipy does UPGMA and spanning trees."""
