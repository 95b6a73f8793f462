"""Workers on other machines: how to reach them, and what they run."""
