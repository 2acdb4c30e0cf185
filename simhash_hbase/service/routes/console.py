"""The console: one page, its style and its script; everything in it comes from the other routes."""

from importlib.resources import files

from fastapi import APIRouter, Request, Response

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

# Nothing from elsewhere, nothing inline, nowhere to send anything but here, in nobody's frame.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOLDER = files("simhash_hbase.service") / "console"
_PAGE, _STYLE, _SCRIPT = ((_FOLDER / f"console.{ending}").read_bytes() for ending in ("html", "css", "js"))
# The page asks for a key only where the service does.
_PAGES = {True: _PAGE, False: _PAGE.replace(b'data-keys="wanted"', b'data-keys="none"')}


@router.get("/")
async def page(request: Request) -> Response:
    """Send the page; it holds nothing that a key would be needed for."""
    has_keys = request.app.state.service.keys is not None
    return Response(_PAGES[has_keys], media_type="text/html", headers=_HEADERS)


@router.get("/console.css")
async def style() -> Response:
    """Send its style."""
    return Response(_STYLE, media_type="text/css", headers=_HEADERS)


@router.get("/console.js")
async def script() -> Response:
    """Send its script."""
    return Response(_SCRIPT, media_type="text/javascript", headers=_HEADERS)
