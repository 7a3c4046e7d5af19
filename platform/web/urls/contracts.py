"""What checks: Contracts, Implementations, Verifiers and review protocols."""

from django.urls import path

from web.views import contracts

urlpatterns = [
    path("contracts/<slug:contract_id>/", contracts.contract_page, name="contract"),
    path("contracts/<slug:contract_id>/record.json", contracts.contract_record, name="contract_record"),
    path(
        "contracts/<slug:contract_id>/fixtures/<slug:fixture_key>/<slug:member>/<slug:key>/",
        contracts.fixture_bytes,
        name="fixture_file",
    ),
    path("implementations/<slug:implementation_id>/", contracts.implementation_page, name="implementation"),
    path(
        "implementations/<slug:implementation_id>/conformance/<slug:run_id>/log",
        contracts.conformance_log_bytes,
        name="conformance_log",
    ),
    path("verifiers/<slug:owner>/<slug:name>/", contracts.verifier_page, name="verifier"),
    path("protocols/<slug:protocol_id>/", contracts.protocol_page, name="protocol"),
]
