"""Results as writers see them: blocks of pairs, columns of the table, filters."""
