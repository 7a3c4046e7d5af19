"""Settings shared by every way of running; secrets come from the environment and a missing one stops the start."""

from pathlib import Path
from typing import Any

import environ

from config.logging import logging_settings
from config.schedule import BEAT_SCHEDULE

ROOT = Path(__file__).resolve().parents[3]
env = environ.Env()

DEBUG = False
SECRET_KEY = env("DJANGO_SECRET_KEY", default="")
ALLOWED_HOSTS: list[str] = env.list("TFP_ALLOWED_HOSTS", default=[])
SITE_URL = env("TFP_SITE_URL", default="http://127.0.0.1:8000")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "django_htmx",
    "pgtrigger",
    "rest_framework",
    "accounts",
    "blobs",
    "notices",
    "reviews",
    "verification.contracts",
    "problems",
    "submissions",
    "verification.runs",
    "packages",
    "web",
    "config",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "web.middleware.reader_timezone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "web.context_processors.navigation",
            ],
        },
    },
]

# Two roles on one database: `default` is the application's, `owner` only migrates (DESIGN, Services and roles).
DATABASES = {
    "default": env.db_url("DATABASE_URL", default="postgres://tfp_app@/tfp"),
    "owner": env.db_url("DATABASE_OWNER_URL", default="postgres://tfp_owner@/tfp"),
}
for _database in DATABASES.values():
    _database["CONN_MAX_AGE"] = 60
    _database["CONN_HEALTH_CHECKS"] = True
DATABASE_ROUTERS: list[str] = []

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = env("TFP_EMAIL_VERIFICATION", default="optional")
ACCOUNT_FORMS = {
    "login": "web.forms.signing.LoginForm",
    "signup": "web.forms.signing.SignupForm",
    "add_email": "web.forms.signing.AddEmailForm",
    "change_password": "web.forms.signing.ChangePasswordForm",
    "reset_password": "web.forms.signing.ResetPasswordForm",
    "reset_password_from_key": "web.forms.signing.ResetPasswordKeyForm",
    "reauthenticate": "web.forms.signing.ReauthenticateForm",
}
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/my/"
ACCOUNT_LOGOUT_REDIRECT_URL = "/"
EMAIL_BACKEND = env("TFP_EMAIL_BACKEND", default="django.core.mail.backends.console.EmailBackend")
DEFAULT_FROM_EMAIL = env("TFP_FROM_EMAIL", default="TfP <noreply@localhost>")

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "/static/"
STATIC_ROOT: Path | None = Path(env("TFP_STATIC_ROOT", default=str(ROOT / "var" / "staticfiles")))
STATICFILES_DIRS = [ROOT / "static"]

# Bytes named by their SHA-256 (blobs); a deployment puts them on S3 through django-storages.
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    "blobs": {
        "BACKEND": "blobs.storage.WriteOnceStorage",
        "OPTIONS": {"location": env("TFP_BLOBS_DIR", default=str(ROOT / "var" / "blobs"))},
    },
}
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
TFP_MAX_UPLOAD_BYTES = env.int("TFP_MAX_UPLOAD_BYTES", default=512 * 1024 * 1024)

CELERY_BROKER_URL = env("TFP_BROKER_URL", default="")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 2.0
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 43_200, "socket_connect_timeout": 2.0}
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_TIME_LIMIT = 36_000
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULE = BEAT_SCHEDULE

LOGGING = logging_settings(is_json=True, level=env("TFP_LOG_LEVEL", default="INFO"))

# The backends of this worker, in the order in which they are tried. The last is a fallback for builtins where this
# machine cannot isolate, or has no runtime yet (`manage.py images build-runtime`); a run says which one it had.
TFP_SANDBOX_BACKENDS = env.list(
    "TFP_SANDBOX_BACKENDS",
    default=[
        "verification.engine.sandbox.embedded.backend.EmbeddedBackend",
        "verification.engine.sandbox.process.ProcessBackend",
    ],
)

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "web.views.errors.csrf_failure"
# The page of all components, for staff; where this is true, for everybody.
TFP_SHOW_COMPONENTS = False
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    },
}

REST_FRAMEWORK: dict[str, object] = {"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None}
