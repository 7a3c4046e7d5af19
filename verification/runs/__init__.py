"""VerificationRuns: what was examined, by which mechanism, and what came out."""
