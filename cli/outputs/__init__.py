"""What commands write: where it goes, in which format, and how another run goes on with it."""
