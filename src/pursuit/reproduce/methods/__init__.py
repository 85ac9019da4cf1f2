"""What experiments fit: the papers' methods, and those of today, tuned."""
