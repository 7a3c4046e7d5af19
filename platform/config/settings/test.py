"""The test suite: its own throw-away services, started by tests/conftest.py."""

from config.settings.base import *  # noqa: F403
from config.settings.base import STORAGES

SECRET_KEY = "a key for tests only"
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
TFP_SHOW_COMPONENTS = True
