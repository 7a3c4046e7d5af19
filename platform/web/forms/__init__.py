"""The forms, one module per noun."""
