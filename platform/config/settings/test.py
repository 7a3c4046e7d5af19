"""The test suite: its own throw-away services, started by tests/conftest.py."""

import atexit
import shutil
import tempfile

from config.settings.base import *  # noqa: F403
from config.settings.base import STORAGES, env

SECRET_KEY = "a key for tests only"  # noqa: S105 (guards nothing)
ALLOWED_HOSTS = ["*"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
# Files are served from where they lie; nothing is collected.
STATIC_ROOT = None
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

# Messages stay in this process unless a test asks for the real broker (tests/services.py).
CELERY_BROKER_URL = env("TFP_BROKER_URL", default="memory://")

_blobs = env("TFP_BLOBS_DIR", default="")
if not _blobs:
    _blobs = tempfile.mkdtemp(prefix="tfp-blobs-")
    atexit.register(shutil.rmtree, _blobs, ignore_errors=True)
STORAGES["blobs"]["OPTIONS"] = {"location": _blobs}

# The page of all components is looked at in a browser (tests/web).
TFP_SHOW_COMPONENTS = True

# Whether a runtime lies in var/ must not decide what a test sees; what runs isolated says so itself.
TFP_SANDBOX_BACKENDS = env.list("TFP_SANDBOX_BACKENDS", default=["verification.engine.sandbox.process.ProcessBackend"])
