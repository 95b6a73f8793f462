"""Tools that every other package uses: errors, types of arrays, threads, units, limits of control groups."""
