"""A deployment: every secret and address must be given, and cookies travel over TLS only."""

from config.settings.base import *  # noqa: F403
from config.settings.base import DATABASES, env

SECRET_KEY = env("DJANGO_SECRET_KEY")
ALLOWED_HOSTS = env.list("TFP_ALLOWED_HOSTS")
DATABASES["default"] |= env.db_url("DATABASE_URL")
CELERY_BROKER_URL = env("TFP_BROKER_URL")
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SECURE_SSL_REDIRECT = env.bool("TFP_SSL_REDIRECT", default=True)
# Who asks whether a process is well asks it directly, past the proxy that speaks TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = env.int("TFP_HSTS_SECONDS", default=31_536_000)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
EMAIL_BACKEND = env("TFP_EMAIL_BACKEND", default="django.core.mail.backends.smtp.EmailBackend")
