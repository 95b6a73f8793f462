"""What a person sees while a command runs: notes, progress, times, and the file of all of it."""
