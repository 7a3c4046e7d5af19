"""The addresses of the pages: every module of this package, one per noun, brings its own `urlpatterns`."""

from importlib import import_module
from pkgutil import iter_modules

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = [
    pattern
    for module in sorted(iter_modules(__path__), key=lambda found: found.name)
    for pattern in import_module(f"{__name__}.{module.name}").urlpatterns
]
