"""Results in the form that writers use: blocks of pairs, columns of the table, filters."""
