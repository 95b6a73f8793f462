"""Methods of the papers that gpualign began with, kept as they were published: selectable, and measured by `gpualign bench`."""
