"""The faces for people: pages and forms."""
