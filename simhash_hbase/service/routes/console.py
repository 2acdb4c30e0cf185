"""The console: one page, its style and its scripts; everything in it comes from the other routes."""

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
_MEDIA = {".css": "text/css", ".js": "text/javascript"}
_FOLDER = files("simhash_hbase.service") / "console"
_PAGE = (_FOLDER / "console.html").read_bytes()
# The page asks for a key only where the service does.
_PAGES = {True: _PAGE, False: _PAGE.replace(b'data-keys="wanted"', b'data-keys="none"')}


@router.get("/")
async def page(request: Request) -> Response:
    """Send the page; it holds nothing that a key would be needed for."""
    has_keys = request.app.state.service.keys is not None
    return Response(_PAGES[has_keys], media_type="text/html", headers=_HEADERS)


def _send(name: str, media: str) -> None:
    """Make a route of a file: no name that a client sends ever becomes a path."""
    content = (_FOLDER / name).read_bytes()

    @router.get(f"/console/{name}")
    async def send() -> Response:
        return Response(content, media_type=media, headers=_HEADERS)


for _file in sorted(file.name for file in _FOLDER.iterdir()):
    for _ending, _its_media in _MEDIA.items():
        if _file.endswith(_ending):
            _send(_file, _its_media)
