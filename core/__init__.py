"""Code that every engine and command shares: sequences, scoring, plans of work, results and their writers."""
