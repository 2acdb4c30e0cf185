"""A profile is checked as a whole, comes back from its bytes, and tells what differs."""

import json

import msgspec
import pytest
from hypothesis import given, strategies as st

from simhash_hbase.errors import CorruptIndex, InvalidProfile, ProfileMismatch
from simhash_hbase.profile.matching import MatchRule
from simhash_hbase.profile.profile import FORMAT, Profile

options = st.fixed_dictionaries(
    {},
    optional={
        "analyzer": st.sampled_from(["jieba", "shingle", "weighted"]),
        "top": st.integers(1, 1000),
        "hash": st.sampled_from(["murmur3", "times33", "jenkins", "md5"]),
        "seed": st.integers(0, 2**32 - 1),
        "scheme": st.sampled_from(["5x2", "4x1", "6x3", "8x4"]),
        "distance": st.integers(0, 3),
        "match": st.just("distance"),
        "similarity": st.floats(0, 1),
        "short": st.integers(0, 99),
        "ttl_days": st.floats(0.001, 1000),
    },
)


@pytest.mark.slow
@given(given_options=options)
def test_a_profile_comes_back_from_its_bytes(given_options):
    if given_options.get("analyzer", "jieba") != "jieba":
        given_options.pop("top", None)
    profile = Profile.resolve(**given_options)
    assert Profile.decode(profile.encode()) == profile
    assert Profile.decode(profile.encode()).encode() == profile.encode()
    assert given_options.items() <= msgspec.structs.asdict(profile).items()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("analyzer", "jeiba", "analyzer is 'jeiba': wanted one of jieba, learned, shingle, weighted"),
        ("hash", "sha1", "hash is 'sha1': wanted one of murmur3, times33, jenkins, md5, none"),
        ("match", "verify", "match is 'verify': wanted one of distance, verified, copied"),
        ("similarity", 2, "similarity is 2: Expected `float` <= 1.0"),
    ],
)
def test_a_refused_value_is_told_with_its_field(field, value, told):
    with pytest.raises(InvalidProfile) as refused:
        Profile.resolve(**{field: value})
    assert str(refused.value) == f"profile: {told}"


@pytest.mark.parametrize("given_options", [{"analyser": "jieba"}, {"threshold": 0.9}, {"Top": 3, "seed": 1}])
def test_an_unknown_field_is_named_beside_the_known_ones(given_options):
    named = next(iter(given_options))
    with pytest.raises(InvalidProfile, match=rf"unknown field {named}; the fields are analyzer, top, .*similarity, "):
        Profile.resolve(**given_options)
    with pytest.raises(InvalidProfile, match=f"unknown field {named}; the fields are analyzer"):
        Profile().replace(**given_options)


def test_defaults_depend_on_the_analyzer():
    assert (Profile.resolve().analyzer, Profile.resolve().top, Profile.resolve().match) == ("learned", None, "verified")
    assert Profile.resolve(analyzer="jieba").top == 200
    assert Profile.resolve(analyzer="shingle").shingle == 4
    assert Profile.resolve(analyzer="learned").top is None
    assert Profile.resolve(analyzer="weighted").sketch is None
    assert Profile.resolve(analyzer="learned").words == Profile.resolve().words == "unicode-1"
    assert Profile.resolve(analyzer="shingle").words is None
    assert Profile.resolve(analyzer="weighted", hash="none").match == "distance"
    assert Profile.resolve(sketch=False).match == "distance"
    # What is None is not given.
    assert Profile.resolve(scheme=None, top=None, ttl_days=None) == Profile.resolve()


OUT_OF_RANGE = {
    "top": (0, "many"),
    "seed": (-1, 2**32),
    "scheme": ("5x5", 5),
    "distance": (4, -1),
    "similarity": (1.01,),
    "fingerprints": (2,),
    "shingle": (3,),
    "binary": (True,),
    "hash": ("none",),
    "max_rows_per_prefix": (0,),
    "max_members": (0,),
    "ttl_days": (0,),
    "grace_s": (-1,),
    "lease_s": (0,),
    "format": (FORMAT + 1, FORMAT - 1),
}


@pytest.mark.parametrize("wrong", [{"sketch": 2}, {"analyzer": "shingle"}, {"scheme": "3x1"}])
def test_a_changed_profile_may_not_be_what_no_option_can_make(wrong):
    with pytest.raises(InvalidProfile):
        Profile.resolve().replace(**wrong)


WRONG_FIELDS = [
    *({"format": number} for number in (1, 2, 3, 5, 99)),
    *({"band_distance": limits} for limits in (None, [], 24)),
    {"bands": 0},
    {"band_bins": None},
    {"band_bins": 100},
    {"later": 1},
]


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"{", b"[]", b'{"format": 99}', b"\xff", b"null"),
        *(json.dumps({**json.loads(Profile.resolve().encode()), **wrong}).encode() for wrong in WRONG_FIELDS),
    ],
)
def test_bytes_of_no_valid_profile_of_this_version_are_corrupt(value):
    with pytest.raises(CorruptIndex, match="profile"):
        Profile.decode(value)


def test_differing_profiles_are_reported_with_both_values_of_chosen_options():
    held, asked = Profile.resolve(), Profile.resolve(scheme="4x1", seed=9)

    held.check_same(Profile.resolve())
    with pytest.raises(ProfileMismatch) as told:
        held.check_same(asked)
    for part in ("scheme='5x2'", "scheme='4x1'", "seed=0", "seed=9"):
        assert part in str(told.value)
    assert "analyzer" not in str(told.value)
    with pytest.raises(ProfileMismatch, match=r"made with bands=0; asked for was bands=6$"):
        Profile.resolve(bands=0).check_same(held)
    limits = r"near='subject', band_distance=\(16, 22, 64\)", r"near=None, band_distance=\(20,\)"
    told = f"bands=6, {limits[0]}; asked for was bands=8, {limits[1]}$"
    with pytest.raises(ProfileMismatch, match=told):
        held.check_same(Profile.resolve(bands=8, band_distance=20))
    with pytest.raises(ProfileMismatch, match="fingerprints"):
        Profile(probe="a").check_same(Profile(probe="b"))
    Profile(probe="a").check_same(Profile(probe=None))


def test_an_index_of_the_first_release_equals_a_new_one_but_for_later_options():
    former = Profile.resolve(analyzer="learned").replace(whole=None, band_distance=(16, 22, 32))

    former.check_same(Profile.resolve(analyzer="learned"))
    assert b"whole" not in former.encode()
    for other in ({"band_distance": 24}, {"seed": 9}):
        with pytest.raises(ProfileMismatch):
            former.check_same(Profile.resolve(analyzer="learned", **other))
    former.check_same(former.replace(near="subject"))
    for other in ({"near": "text"}, {"band_distance": (16, 22, 64)}):
        with pytest.raises(ProfileMismatch):
            former.check_same(former.replace(**other))
    with pytest.raises(ProfileMismatch, match="whole"):
        Profile.resolve(analyzer="learned").check_same(former)


@pytest.mark.parametrize(
    "options", [{"analyzer": "shingle"}, {"analyzer": "weighted"}, {"match": "copied"}, {"near": "text"}]
)
def test_options_of_a_subclass_of_strings_are_the_strings_that_they_are(options):
    class Text(str):
        __slots__ = ()

    given = {name: Text(value) for name, value in options.items()}
    assert Profile.resolve(**given).encode() == Profile.resolve(**options).encode()


def test_the_rule_of_an_index_follows_its_profile():
    verified = MatchRule(match="verified", similarity=0.77, radius=7, band_distance=(16, 22, 64), free_distance=10)
    assert Profile.resolve().rule == verified
    assert Profile.resolve(bands=0).rule == MatchRule(match="verified", distance=3, similarity=0.77, radius=7)
    assert Profile.resolve(band_distance=16).rule.band_reach == (16,)
    assert Profile.resolve(match="distance", bands=6).rule.band_reach is None
    assert Profile.resolve(match="distance", distance=1).rule.reach == 1
    assert Profile.resolve(distance=4, scheme="6x2").rule.distance == 4
    assert Profile.resolve(distance=4, scheme="8x4").rule.reach == 9
    assert Profile.resolve(distance=40, scheme="41x1").rule.radius == 64


def test_the_time_to_live_is_counted_in_days():
    assert Profile.resolve(ttl_days=1.5).oldest(10**12) == 10**12 - 129_600_000
    assert Profile.resolve().oldest(10**12) == 0


NO_TEXT, ONE_FEATURE, ONE_CHARACTER = (0, 0), (1, 0), (0, 1)


@pytest.mark.parametrize(
    ("options", "short"),
    [
        ({}, [ONE_FEATURE, ONE_CHARACTER, (9, 500), (10, 79)]),
        ({"short": 0}, [ONE_CHARACTER, (10, 79)]),
        ({"short": 30}, [ONE_FEATURE, ONE_CHARACTER, (9, 500), (10, 79), (10, 80), (29, 300)]),
        ({"short_characters": 300}, [ONE_FEATURE, ONE_CHARACTER, (9, 500), (10, 79), (10, 80), (30, 299)]),
        ({"bands": 0}, [ONE_FEATURE, (9, 500), (10, 79), (10, 80), (29, 300)]),
    ],
)
def test_a_text_is_short_by_features_or_characters_as_far_as_they_are_known(options, short):
    profile = Profile.resolve(**options)
    sizes = [NO_TEXT, ONE_FEATURE, ONE_CHARACTER, (9, 500), (10, 79), (10, 80), (29, 300), (30, 299), (30, 300)]
    assert [size for size in sizes if profile.is_short(*size)] == short


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (6, 4, (16, 22, 64), 10)),
        ({"match": "distance"}, (0, None, None, None)),
        ({"sketch": False}, (0, None, None, None)),
        ({"analyzer": "weighted"}, (0, None, None, None)),
        ({"bands": 0}, (0, None, None, None)),
        ({"match": "distance", "bands": 3}, (3, 4, (16, 22, 64), 10)),
        ({"bands": 10, "band_bins": 8, "band_distance": 64, "free_distance": 64}, (10, 8, (64,), 64)),
        ({"band_distance": [8, 8, 64]}, (6, 4, (8, 8, 64), 10)),
        # As many as fit.
        ({"bands": 64, "band_bins": 8}, (64, 8, (16, 22, 64), 10)),
        ({"bands": 241, "band_bins": 2}, (241, 2, (16, 22, 64), 10)),
    ],
)
def test_bands_go_with_rule_verified_unless_told_otherwise(options, expected):
    profile = Profile.resolve(**options)
    fields = msgspec.structs.asdict(profile)
    named = ("bands", "band_bins", "band_distance", "free_distance")
    assert tuple(fields[name] for name in named) == expected
    assert Profile.decode(profile.encode()) == profile


@pytest.mark.parametrize(
    ("options", "told"),
    [
        *(({name: value}, None) for name, values in OUT_OF_RANGE.items() for value in values),
        ({"distance": 3, "scheme": "4x2"}, None),
        ({"analyzer": "shingle", "shingle": 0}, None),
        ({"match": "verified", "sketch": False}, "^match verified needs sketches$"),
        ({"bands": 6, "sketch": False}, "keeps no sketches"),
        ({"bands": 0, "band_bins": 6}, "band_bins"),
        ({"match": "distance", "band_distance": 20}, "band_distance"),
        ({"bands": 0, "free_distance": 10}, "free_distance"),
        ({"bands": 65, "band_bins": 8}, "512 minima"),
        ({"bands": 250, "band_bins": 1}, "flag"),
        ({"bands": -1}, "bands"),
        ({"band_distance": 65}, "band_distance"),
        ({"band_distance": (16, 65)}, "band_distance"),
        ({"band_distance": ()}, "band_distance"),
        ({"band_distance": (16, 24, 22)}, r"band_distance \(16, 24, 22\): documents that share more sketch rows"),
        ({"free_distance": 65}, "free_distance"),
        # A scheme that would do.
        ({"distance": 4}, "6x2"),
        ({"analyzer": "shingle", "words": "unicode-1"}, "words"),
        ({"analyzer": "weighted", "words": "unicode-1"}, "words"),
        ({"words": "x"}, "words"),
        ({"analyzer": "shingle", "top": 5}, "top"),
        ({"analyzer": "weighted", "top": 5}, "top"),
    ],
)
def test_options_that_are_out_of_range_or_do_not_go_together_are_refused(options, told):
    with pytest.raises(InvalidProfile, match=told):
        Profile.resolve(**options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("subject", (16, 22, 64), 10)),
        ({"near": "subject"}, ("subject", (16, 22, 64), 10)),
        ({"near": "text"}, ("text", (64,), 64)),
        ({"near": "text", "bands": 8, "band_bins": 5}, ("text", (64,), 64)),
        ({"near": "subject", "bands": 2}, ("subject", (22, 64), 10)),
        ({"near": "subject", "bands": 1}, ("subject", (64,), 10)),
        ({"free_distance": 12}, (None, (16, 22, 64), 12)),
        ({"band_distance": 64}, (None, (64,), 10)),
        ({"bands": 0}, (None, None, None)),
    ],
)
def test_near_is_a_name_for_the_limits_of_sketch_rows(options, expected):
    profile = Profile.resolve(**options)

    assert (profile.near, profile.band_distance, profile.free_distance) == expected
    assert Profile.decode(profile.encode()) == profile == profile.replace(seed=0)
    assert profile.near is None or profile == Profile.resolve(**{**options, "near": "text"}).replace(near=profile.near)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"near": "x"}, "near is 'x': wanted one of subject, text"),
        ({"near": "text", "bands": 0}, "near text: it goes with bands"),
        ({"near": "subject", "match": "distance"}, "near subject: it goes with bands"),
        ({"near": "text", "band_distance": 64}, "near text decides band_distance and free_distance"),
        ({"near": "subject", "free_distance": 10}, "give it, or free_distance"),
    ],
)
def test_near_beside_an_option_that_contradicts_it_is_refused(options, told):
    with pytest.raises(InvalidProfile, match=told):
        Profile.resolve(**options)
    with pytest.raises(InvalidProfile, match=told):
        Profile.resolve().replace(**options, **({"bands": 0} if "match" in options else {}))


def test_limits_of_one_s_own_have_no_name():
    assert Profile.resolve(near="text").replace(band_distance=64).near is None
    assert Profile.resolve(band_distance=20).replace(near="text") == Profile.resolve(near="text")
    assert Profile.resolve(bands=2).replace(bands=6) == Profile.resolve()


def test_a_chosen_limit_of_short_stays_when_bands_come_or_go():
    profile, asked = Profile.resolve(), Profile.resolve(short=25)
    assert asked.replace(bands=0) == Profile.resolve(bands=0, short=25)
    assert asked.replace(bands=0).replace(bands=6) == asked
    assert profile.replace(bands=0, short=10).short == 10
    assert profile.replace(bands=0) == Profile.resolve(bands=0)
    assert profile.replace(bands=0).replace(bands=6) == profile
    assert profile.replace(sketch=None, match="distance") == Profile.resolve(sketch=False)
    assert profile.replace(bands=4, band_distance=0).band_distance == (0,)
    assert Profile.resolve(band_bins=8, band_distance=20).replace(seed=7).rule.band_distance == (20,)
    assert profile.replace(free_distance=None).replace(seed=7) == Profile.resolve(seed=7).replace(free_distance=None)


def test_an_index_without_checksums_is_taken_for_one_with_them():
    with_checksums = Profile.resolve(analyzer="shingle")
    without = with_checksums.replace(checksums=False)

    without.check_same(with_checksums)
    assert with_checksums.checksums
    assert b"checksums" not in without.encode()
