"""A fresh machine: `make run` starts the services and hands their addresses over in the environment."""

from config.settings.base import *  # noqa: F403
from config.settings.base import ROOT, STORAGES, env

DEBUG = env.bool("TFP_DEBUG", default=False)
# Kept across starts by the supervisor (var/secret_key); a literal here would be everybody's.
SECRET_KEY = env("DJANGO_SECRET_KEY", default="") or (
    (ROOT / "var" / "secret_key").read_text().strip() if (ROOT / "var" / "secret_key").exists() else "not-started-yet"
)
ALLOWED_HOSTS = env.list("TFP_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
