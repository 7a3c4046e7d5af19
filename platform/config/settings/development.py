"""A fresh machine: `make run` starts the services and hands their addresses over in the environment."""

import os
from pathlib import Path

from config.logging import logging_settings
from config.running import running_environment

VAR = Path(os.environ.get("TFP_VAR_DIR") or Path(__file__).resolve().parents[3] / "var")
# A command in a second terminal joins what `make run` started; addresses that were given come first.
for _name, _value in running_environment(VAR).items():
    os.environ.setdefault(_name, _value)

from config.settings.base import *  # noqa: E402, F403
from config.settings.base import STORAGES, env  # noqa: E402

DEBUG = env.bool("TFP_DEBUG", default=False)
# Given by the supervisor, which keeps it in var/secret_key; a literal here would be everybody's.
SECRET_KEY = env("DJANGO_SECRET_KEY", default="") or os.urandom(32).hex()
ALLOWED_HOSTS = env.list("TFP_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
# Files are served from where they lie; nothing is collected.
STATIC_ROOT = None
LOGGING = logging_settings(is_json=False, level=env("TFP_LOG_LEVEL", default="INFO"))
