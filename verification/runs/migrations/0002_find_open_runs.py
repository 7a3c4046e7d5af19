"""An index over the runs that are not finished: sweeps look for them every few seconds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial_records")]

    operations = [
        migrations.AddIndex(
            model_name="verificationrun",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "running"])), fields=["id"], name="run_open"
            ),
        ),
    ]
