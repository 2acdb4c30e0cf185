"""The console, its style and its scripts, whose figures come from the other routes; and the page of all routes."""

from functools import lru_cache
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from simhash_hbase.service.reference import reference_page

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
_PAGE = (files("simhash_hbase.service") / "page.html").read_bytes()
# The page asks for a key only where the service does.
_PAGES = {True: _PAGE, False: _PAGE.replace(b'data-keys="wanted"', b'data-keys="none"')}


@router.head("/")
@router.get("/")
async def page(request: Request) -> Response:
    """Send the page; it holds nothing that a key would be needed for."""
    has_keys = request.app.state.service.keys is not None
    return Response(_PAGES[has_keys], media_type="text/html", headers=_HEADERS)


@router.head("/docs")
@router.get("/docs")
async def reference(request: Request) -> Response:
    """Send the page of all routes."""
    return Response(_reference(request.app), media_type="text/html", headers=_HEADERS)


@lru_cache(1)
def _reference(app: FastAPI) -> str:
    return reference_page(app.openapi())


class Parts(StaticFiles):
    """The style and the scripts of the page."""

    def __init__(self) -> None:
        super().__init__(packages=[("simhash_hbase.service", "console")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer with a file, and with what keeps a browser from misusing it."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
