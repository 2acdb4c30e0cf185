"""Which versions of which libraries took the main text out of pages."""

import sys

from simhash_hbase.cli.screen.output import Output
from simhash_hbase.features.probe import extractor_versions
from simhash_hbase.profile import Profile

_IMPORTED_FOR_PAGES = "simhash_hbase.inputs.page.maintext"


def warn_of_extractor(output: Output, profile: Profile) -> None:
    """Warn when pages were read by other versions than those that were installed where the index was made."""
    if _IMPORTED_FOR_PAGES not in sys.modules or profile.extractor is None:
        return
    here = extractor_versions()
    differing = [name for name in sorted(profile.extractor) if profile.extractor[name] != here.get(name)]
    if differing:
        before = ", ".join(f"{name} {profile.extractor[name]}" for name in differing)
        now = ", ".join(f"{name} {here.get(name, 'none')}" for name in differing)
        output.warn(
            f"warning: main texts of pages were taken by {now}, the index was made with {before}: "
            "the same page may have another text"
        )
