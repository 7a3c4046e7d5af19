"""Problems, their frozen revisions and what those bind."""
