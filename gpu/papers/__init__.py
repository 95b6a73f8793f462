"""Methods from the papers that gpualign grew out of, kept as published; users can select them, and `gpualign bench` measures them."""
