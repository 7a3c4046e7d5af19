"""What checks: pages of Contracts, Implementations, Verifiers and review protocols, and the bytes of fixtures."""

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from reviews.selectors import published_protocol
from verification.contracts.documents import contract_document
from verification.contracts.selectors import (
    conformance_log,
    contracts_of,
    fixture_file,
    full_contracts,
    published_contract,
    published_implementation,
    verifier_named,
)
from verification.engine.documents import canonical_bytes, document_hash
from web.contract_page import contract_context, implementation_context
from web.digests import compare
from web.protocol_words import protocol_context
from web.published_files import download_name, published_response

FIXTURE_MEMBERS = ("reference", "artifacts")


@require_safe
def contract_page(request: HttpRequest, contract_id: str) -> HttpResponse:
    """A Contract: what it says, who decides, on which fixtures its checkers were tried."""
    contract = published_contract(contract_id)
    if contract is None:
        raise Http404
    given = request.GET.get("compare", "")[:200]
    verifier = contract.verifier
    context = contract_context(contract) | {
        "given": given,
        "answer": compare(contract.normative_hash, given),
        "crumbs": [
            (str(verifier), f"/verifiers/{verifier.owner}/{verifier.name}/"),
            (f"Contract {contract.number}", ""),
        ],
    }
    return render(request, "contracts/page.html", context)


@require_safe
def contract_record(request: HttpRequest, contract_id: str) -> HttpResponse:
    """The Contract's document, fixtures included, in its canonical form."""
    contract = full_contracts().filter(pk=contract_id, published_at__isnull=False).first()
    if contract is None:
        raise Http404
    document = contract_document(contract)
    etag = f'"{document_hash(document)}"'
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = HttpResponse(canonical_bytes(document), content_type="application/json")
        response["Content-Disposition"] = f'attachment; filename="{contract.pk}.json"'
    response["ETag"] = etag
    response["Cache-Control"] = "public, no-cache"
    return response


@require_safe
def fixture_bytes(request: HttpRequest, contract_id: str, fixture_key: str, member: str, key: str) -> HttpResponseBase:
    """The bytes that a fixture gives a slot or a role."""
    file = fixture_file(contract_id, fixture_key, member, key) if member in FIXTURE_MEMBERS else None
    if file is None:
        raise Http404
    return published_response(
        request,
        file.blob.content_hash,
        filename=download_name(file.filename, fallback=f"{fixture_key}-{key}", media_type=file.media_type),
        media_type=file.media_type,
    )


@require_safe
def implementation_page(request: HttpRequest, implementation_id: str) -> HttpResponse:
    """An Implementation: what is executed, within which limits, and how it did on the fixtures."""
    implementation = published_implementation(implementation_id)
    if implementation is None:
        raise Http404
    contract, verifier = implementation.contract, implementation.contract.verifier
    context = implementation_context(implementation) | {
        "crumbs": [
            (str(verifier), f"/verifiers/{verifier.owner}/{verifier.name}/"),
            (f"Contract {contract.number}", f"/contracts/{contract.pk}/"),
            (f"Implementation {implementation.number}", ""),
        ]
    }
    return render(request, "implementations/page.html", context)


@require_safe
def conformance_log_bytes(request: HttpRequest, implementation_id: str, run_id: str) -> HttpResponseBase:
    """The whole log of one fixture's run; fixture bytes are public, and so is what a checker wrote about them."""
    run = conformance_log(implementation_id, run_id)
    if run is None or run.log is None:
        raise Http404
    return published_response(
        request,
        run.log.content_hash,
        filename=f"{run.fixture.key}-{run.pk}.log",
        media_type="text/plain",
    )


@require_safe
def verifier_page(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """A Verifier and the Contracts under its name."""
    verifier = verifier_named(owner, name)
    if verifier is None:
        raise Http404
    context = {"verifier": verifier, "contracts": contracts_of(verifier), "crumbs": [(str(verifier), "")]}
    return render(request, "verifiers/page.html", context)


@require_safe
def protocol_page(request: HttpRequest, protocol_id: str) -> HttpResponse:
    """A review protocol: its steps in words, and the canonical text that its hash names."""
    protocol = published_protocol(protocol_id)
    if protocol is None:
        raise Http404
    context = protocol_context(protocol) | {"crumbs": [("Review protocols", ""), (protocol.title, "")]}
    return render(request, "protocols/page.html", context)
