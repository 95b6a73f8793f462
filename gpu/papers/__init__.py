"""Methods from the papers that gpualign started from, kept as published; users can select them, and `gpualign bench` measures them."""
