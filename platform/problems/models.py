"""Problems and their revisions: a draft may change, a published revision never does."""

import pgtrigger
from django.conf import settings
from django.db import models

from accounts.fields import HashField, IdField, hash_check
from accounts.records import Record, kept, only_moves, refuse, trigger, write_once


class Visibility(models.TextChoices):
    """Who may read: everybody, or the people concerned."""

    PUBLIC = "public", "Public"
    PRIVATE = "private", "Private"


class Problem(models.Model):
    """A question, with managers and numbered revisions."""

    id = IdField("prb")
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    summary = models.TextField(max_length=1000, blank=True)
    managers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="managed_problems", blank=True)
    results_visibility = models.CharField(max_length=8, choices=Visibility.choices, default="public")
    artifacts_visibility = models.CharField(max_length=8, choices=Visibility.choices, default="private")
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    quota_per_day = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="problem_window",
                condition=models.Q(opens_at=None)
                | models.Q(closes_at=None)
                | models.Q(opens_at__lt=models.F("closes_at")),
            )
        ]
        indexes = [models.Index(fields=["-created_at", "id"], name="problem_newest")]
        triggers = [
            kept(),
            only_moves(
                "title", "summary", "archived_at", "results_visibility", "artifacts_visibility", "opens_at",
                "closes_at", "quota_per_day",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return self.title


class Skill(Record):
    """Versioned instructions for solvers: how to run the check locally."""

    id = IdField("skl")
    title = models.CharField(max_length=200)
    body_md = models.TextField()
    content_hash = HashField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [hash_check("content_hash", name="skill_hash")]
        triggers = [write_once()]

    def __str__(self) -> str:
        return self.title


class ProblemRevision(models.Model):
    """One statement, pinning at most one Contract and binding its slots; frozen at publication."""

    id = IdField("prv")
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    statement_md = models.TextField()
    verifier_contract = models.ForeignKey(
        "contracts.VerifierContract", on_delete=models.PROTECT, null=True, blank=True, related_name="revisions"
    )
    skill = models.ForeignKey(Skill, on_delete=models.PROTECT, null=True, blank=True, related_name="revisions")
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    content_hash = HashField(blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "number"], name="revision_number"),
            models.CheckConstraint(
                name="revision_published",
                condition=models.Q(published_at=None, published_by=None, content_hash="")
                | models.Q(published_at__isnull=False, published_by__isnull=False) & ~models.Q(content_hash=""),
            ),
        ]
        triggers = [
            trigger(
                "frozen",
                pgtrigger.Update | pgtrigger.Delete,
                f"IF OLD.published_at IS NOT NULL THEN {refuse('a published revision never changes')} END IF; "
                "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW;",
            ),
            trigger(
                "publishable",
                pgtrigger.Insert | pgtrigger.Update,
                "IF NEW.published_at IS NULL THEN RETURN NEW; END IF; "
                "IF NEW.verifier_contract_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM contracts_verifiercontract c "
                "WHERE c.id = NEW.verifier_contract_id AND c.published_at IS NOT NULL AND c.yanked_at IS NULL) THEN "
                + refuse("a revision pins a published contract that is not yanked")
                + " END IF; "
                "IF EXISTS (SELECT 1 FROM contracts_referenceslot r WHERE r.contract_id = NEW.verifier_contract_id "
                "AND r.required AND NOT EXISTS (SELECT 1 FROM problems_slotbinding b WHERE b.revision_id = NEW.id "
                "AND b.slot_id = r.id)) THEN " + refuse("a published revision binds every required slot") + " END IF; "
                "IF EXISTS (SELECT 1 FROM problems_slotbinding b JOIN contracts_referenceslot r ON r.id = b.slot_id "
                "LEFT JOIN blobs_blob k ON k.content_hash = b.blob_id WHERE b.revision_id = NEW.id AND ("
                "r.contract_id IS DISTINCT FROM NEW.verifier_contract_id OR b.size_bytes > r.max_bytes "
                "OR NOT (b.media_type = ANY (r.media_types)) OR (b.kind = 'stored' AND (k.content_hash IS NULL "
                "OR k.purged_at IS NOT NULL OR k.size_bytes <> b.size_bytes OR k.content_hash <> b.content_hash)) "
                "OR (r.sealed AND (b.kind = 'linked' OR b.commitment = '')))) THEN "
                + refuse("every binding of a published revision fits its slot and its bytes are present")
                + " END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"


class SlotBinding(models.Model):
    """The exact bytes, or the link, that a revision gives one slot. Sealed bytes show only their commitment."""

    revision = models.ForeignKey(ProblemRevision, on_delete=models.CASCADE, related_name="bindings")
    slot = models.ForeignKey("contracts.ReferenceSlot", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=8, choices=[("stored", "stored"), ("linked", "linked")])
    blob = models.ForeignKey("blobs.Blob", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    url = models.URLField(max_length=2000, blank=True)
    content_hash = HashField()
    size_bytes = models.BigIntegerField()
    media_type = models.CharField(max_length=127)
    filename = models.CharField(max_length=255, blank=True)
    salt = models.BinaryField(max_length=32, null=True, blank=True)
    commitment = HashField(blank=True)

    class Meta:
        ordering = ["slot__position"]
        constraints = [
            models.UniqueConstraint(fields=["revision", "slot"], name="binding_once"),
            hash_check("content_hash", name="binding_hash"),
            models.CheckConstraint(
                name="binding_kind",
                condition=models.Q(kind="stored", blob__isnull=False, url="")
                | models.Q(kind="linked", blob=None, url__startswith="https://"),
            ),
        ]
        triggers = [
            trigger(
                "frozen",
                pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
                # The row locks make a publication that is under way wait, or this change.
                "IF TG_OP <> 'INSERT' AND (SELECT published_at FROM problems_problemrevision v "
                "WHERE v.id = OLD.revision_id FOR SHARE) IS NOT NULL THEN "
                + refuse("the bindings of a published revision never change")
                + " END IF; IF TG_OP <> 'DELETE' AND (SELECT published_at FROM problems_problemrevision v "
                "WHERE v.id = NEW.revision_id FOR SHARE) IS NOT NULL THEN "
                + refuse("the bindings of a published revision never change")
                + " END IF; IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW;",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.slot_id} of {self.revision_id}"


class Release(Record):
    """The one act that opens a Problem's sealed bytes; from then on withheld records are readable."""

    problem = models.OneToOneField(Problem, on_delete=models.PROTECT, related_name="release")
    released_at = models.DateTimeField()
    released_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)

    class Meta:
        triggers = [write_once()]

    def __str__(self) -> str:
        return f"release of {self.problem_id}"
