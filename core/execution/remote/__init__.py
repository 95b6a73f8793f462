"""Work that is done by workers of a `concurrent.futures.Executor`, on this machine or on others."""
