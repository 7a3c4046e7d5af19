"""The drawings of the icons: 24 by 24, strokes in the current colour; a word always stands beside them."""

from collections.abc import Mapping
from types import MappingProxyType

_CIRCLE = '<circle cx="12" cy="12" r="9"/>'
_DASHED = '<circle cx="12" cy="12" r="9" stroke-dasharray="3.6 3.47"/>'

DRAWINGS: Mapping[str, str] = MappingProxyType(
    {
        # Results: each its own outline, so that they can be told apart in greyscale and at 16 px.
        "verified": _CIRCLE + '<path d="m8 12.4 2.7 2.7L16 9.6"/>',
        "refuted": '<rect x="3.5" y="3.5" width="17" height="17" rx="2"/><path d="m9 9 6 6m0-6-6 6"/>',
        "inconclusive": (
            '<path d="M12 2.6 21.4 12 12 21.4 2.6 12Z"/>'
            '<path d="M10 10a2 2 0 1 1 3.1 1.7c-.8.5-1.1.9-1.1 1.6M12 16h.01"/>'
        ),
        "error": '<path d="M12 3.4 21.4 20H2.6Z"/><path d="M12 10v4.2M12 17h.01"/>',
        # States of work under way.
        "running": '<circle class="faint" cx="12" cy="12" r="9"/><path class="turning" d="M12 3a9 9 0 0 1 9 9"/>',
        "queued": _CIRCLE + '<path d="M12 7v5.3l3.4 2"/>',
        "waiting": (
            '<path d="M6.5 3.5h11m-11 17h11M8 3.5v3.2c0 2.4 4 3.2 4 5.3s-4 2.9-4 5.3v3.2'
            'M16 3.5v3.2c0 2.4-4 3.2-4 5.3s4 2.9 4 5.3v3.2"/>'
        ),
        "not_started": _DASHED + '<path d="M8.5 12h7"/>',
        "not_run": _DASHED + '<path d="M9.2 8.8 13.6 12l-4.4 3.2ZM16 9v6"/>',
        "partial": _CIRCLE + '<path d="M12 3v18M12 7.5h4.6M12 12h6M12 16.5h4.6"/>',
        # What happened to a record afterwards.
        "revoked": _CIRCLE + '<path d="m5.7 5.7 12.6 12.6"/>',
        "withdrawn": '<path d="M8.5 5 4 9.5 8.5 14"/><path d="M4 9.5h10.3a5 5 0 0 1 0 10H11"/>',
        "withheld": '<rect x="5" y="10.5" width="14" height="10" rx="2"/><path d="M8 10.5V7.2a4 4 0 0 1 8 0v3.3"/>',
        "redacted": '<path d="M4 7h16M4 12h16M4 17h9" stroke-width="3" stroke-linecap="butt"/>',
        # Everything else.
        "blocked": '<path d="M8.3 3h7.4L21 8.3v7.4L15.7 21H8.3L3 15.7V8.3Z"/><path d="M12 8v4.6m0 3.2h.01"/>',
        "info": _CIRCLE + '<path d="M12 11v5m0-8.2h.01"/>',
        "open": _CIRCLE + '<circle cx="12" cy="12" r="2.5"/>',
        "closed": '<rect x="4" y="4" width="16" height="16" rx="2"/><path d="M8.5 12h7"/>',
        "draft": '<path d="M4 20.2h4L19.2 9a2.8 2.8 0 0 0-4-4L4 16.2Z"/><path d="m13.4 6.8 4 4"/>',
        "person": '<circle cx="12" cy="8" r="4"/><path d="M4.5 20.5c.8-4 3.7-6 7.5-6s6.7 2 7.5 6"/>',
        "file": '<path d="M6 3h8l5 5v13H6Z"/><path d="M14 3v5h5"/>',
        "download": '<path d="M12 4v11m-4.5-4.5L12 15l4.5-4.5M5 20h14"/>',
        "link": '<path d="M14 4h6v6m0-6-9 9M18 14v5.5H4.5V6H10"/>',
        "record": '<path d="M5 3.5h14v17H5Z"/><path d="M8.5 8h7m-7 4h7m-7 4H12"/>',
        "scales": '<path d="M12 4v16m-5 0h10M5 7h14M5 7l-3 7h6Zm14 0-3 7h6Z"/>',
        "magnifier": '<circle cx="11" cy="11" r="6.5"/><path d="m16 16 4.5 4.5"/>',
    }
)
