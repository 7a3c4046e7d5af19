"""The views, one module per noun."""
