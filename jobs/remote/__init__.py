"""Workers on other machines: how they are reached, and what they run."""
