"""Running of planned work: the engine interface, workers, load balancing, several devices, remote workers."""
