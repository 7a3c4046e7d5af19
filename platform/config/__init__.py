"""How the platform is put together: settings, URLs, Celery, and the supervisor of its services.

Empty on purpose: the supervisor lives here and must not load Django or Celery (`apps.py` makes Celery known).
"""
