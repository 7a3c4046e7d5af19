"""What to tell whom; kinds and ids, never content."""
