"""The `embedded` backend: namespaces, a filter and control groups, with nothing but this package installed."""
