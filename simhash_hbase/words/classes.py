"""Classes of characters that words are made of, frozen: Unicode 14, whichever version this Python knows.

Each is what a class of a regular expression holds. Code points that Unicode 14 left free between two letters of a
class belong to it, so that most letters that came later do, too. ASCII and Han are in none of them (see `blockruns`).
"""


def _class(ranges: str) -> str:
    """Write hexadecimal ranges as the inside of a class of characters."""
    return "".join("-".join(chr(int(end, 16)) for end in part.split("-")) for part in ranges.split())


LETTERS = _class(
    "aa b5 ba c0-d6 d8-f6 f8-2c1 2c6-2d1 2e0-2e4 2ec 2ee 370-374 376-37d 37f 386 388-3f5 3f7-481 48a-559 560-588 "
    "5d0-5f3 620-64a 66e-66f 671-6d3 6d5 6e5-6e6 6ee-6ef 6fa-6fc 6ff 710 712-72f 74d-7a5 7b1 7ca-7ea 7f4-7f5 7fa "
    "800-815 81a 824 828 840-858 860-887 889-88e 8a0-8c9 904-939 93d 950 958-961 971-980 985-9b9 9bd 9ce 9dc-9e1 "
    "9f0-9f1 9fc a05-a39 a59-a5e a72-a74 a85-ab9 abd ad0-ae1 af9 b05-b39 b3d b5c-b61 b71 b83-bb9 bd0 c05-c39 c3d "
    "c58-c61 c80 c85-cb9 cbd cdd-ce1 cf1-cf2 d04-d3a d3d d4e d54-d56 d5f-d61 d7a-d7f d85-dc6 f00 f40-f6c f88-f8c "
    "10a0-10fa 10fc-135a 1380-138f 13a0-13fd 1401-166c 166f-167f 1681-169a 16a0-16ea 16ee-1711 171f-1731 1740-1751 "
    "1760-1770 1820-1884 1887-18a8 18aa-191e 1a00-1a16 1b83-1ba0 1bae-1baf 1bba-1be5 1c00-1c23 1c4d-1c4f 1c5a-1c7d "
    "1c80-1cbf 1ce9-1cec 1cee-1cf3 1cf5-1cf6 1cfa-1dbf 1e00-1fbc 1fbe 1fc2-1fcc 1fd0-1fdb 1fe0-1fec 1ff2-1ffc 2071 "
    "207f 2090-209c 2102 2107 210a-2113 2115 2119-211d 2124 2126 2128 212a-212d 212f-2139 213c-213f 2145-2149 214e "
    "2160-2188 2c00-2ce4 2ceb-2cee 2cf2-2cf3 2d00-2d6f 2d80-2dde 2e2f 3105-318e 31a0-31bf a000-a48c a4d0-a4fd "
    "a500-a60c a610-a61f a62a-a66e a67f-a69d a6a0-a6ef a717-a71f a722-a788 a78b-a801 a803-a805 a807-a80a a80c-a822 "
    "a840-a873 a882-a8b3 a8f2-a8f7 a8fb a8fd-a8fe a90a-a925 a930-a946 a960-a97c aa00-aa28 aa40-aa42 aa44-aa4b "
    "aae0-aaea aaf2-aaf4 ab01-ab5a ab5c-ab69 ab70-abe2 ac00-d7fb fb00-fb1d fb1f-fb28 fb2a-fbb1 fbd3-fd3d fd50-fdc7 "
    "fdf0-fdfb fe70-fefc ff21-ff3a ff41-ff5a ffa0-ffdc 10000-100fa 10140-10174 10280-102d0 10300-1031f 1032d-10375 "
    "10380-1039d 103a0-103cf 103d1-1049d 104b0-10563 10570-10855 10860-10876 10880-1089e 108e0-108f5 10900-10915 "
    "10920-10939 10980-109b7 109be-109bf 10a00 10a10-10a35 10a60-10a7c 10a80-10a9c 10ac0-10ac7 10ac9-10ae4 "
    "10b00-10b35 10b40-10b55 10b60-10b72 10b80-10b91 10c00-10cf2 10d00-10d23 10e80-10ea9 10eb0-10f1c 10f27-10f45 "
    "10f70-10f81 10fb0-10fc4 10fe0-10ff6 11003-11037 11071-11072 11075 11083-110af 110d0-110e8 11103-11126 11144 "
    "11147-11172 11176 11183-111b2 111c1-111c4 111da 111dc 11200-1122b 11280-112a8 112b0-112de 11305-11339 1133d "
    "11350 1135d-11361 11400-11434 11447-1144a 1145f-114af 114c4-114c5 114c7 11580-115ae 115d8-115db 11600-1162f "
    "11644 11680-116aa 116b8 11800-1182b 118a0-118df 118ff-1192f 1193f 11941 119a0-119d0 119e1 119e3 11a00 "
    "11a0b-11a32 11a3a 11a50 11a5c-11a89 11a9d 11ab0-11c2e 11c40 11c72-11c8f 11d00-11d30 11d46 11d60-11d89 11d98 "
    "11ee0-11ef2 11fb0 12000-1246e 12480-12ff0 13000-1342e 14400-16a5e 16a70-16abe 16ad0-16aed 16b00-16b2f "
    "16b40-16b43 16b63-16e7f 16f00-16f4a 16f50 16f93-16f9f 1bc00-1bc99 1d400-1d6c0 1d6c2-1d6da 1d6dc-1d6fa "
    "1d6fc-1d714 1d716-1d734 1d736-1d74e 1d750-1d76e 1d770-1d788 1d78a-1d7a8 1d7aa-1d7c2 1d7c4-1d7cb 1df00-1df1e "
    "1e100-1e12c 1e137-1e13d 1e14e 1e290-1e2ad 1e2c0-1e2eb 1e7e0-1e8c4 1e900-1e943 1e94b 1ee00-1eebb"
)
"""Letters of the scripts that put blanks between words, and their numerals that are letters."""

DIGITS = _class(
    "660-669 6f0-6f9 7c0-7c9 966-96f 9e6-9ef a66-a6f ae6-aef b66-b6f be6-bef c66-c6f ce6-cef d66-d6f de6-def f20-f29 "
    "1810-1819 1946-194f 1bb0-1bb9 1c40-1c49 1c50-1c59 a620-a629 a8d0-a8d9 a900-a909 aa50-aa59 abf0-abf9 ff10-ff19 "
    "104a0-104a9 10d30-10d39 11066-1106f 110f0-110f9 11136-1113f 111d0-111d9 112f0-112f9 11450-11459 114d0-114d9 "
    "11650-11659 116c0-116c9 118e0-118e9 11950-11959 11c50-11c59 11d50-11d59 11da0-11da9 16a60-16a69 16ac0-16ac9 "
    "16b50-16b59 1d7ce-1d7ff 1e140-1e149 1e2f0-1e2f9 1e950-1e959 1fbf0-1fbf9"
)
"""Decimal digits of these scripts."""

MARKS = _class(
    "300-36f 483-487 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 730-74a "
    "7a6-7b0 7eb-7f3 7fd 816-819 81b-823 825-827 829-82d 859-85b 898-89f 8ca-8e1 8e3-903 93a-93c 93e-94f 951-957 "
    "962-963 981-983 9bc 9be-9cd 9d7 9e2-9e3 9fe-a03 a3c-a51 a70-a71 a75 a81-a83 abc abe-acd ae2-ae3 afa-b03 b3c "
    "b3e-b57 b62-b63 b82 bbe-bcd bd7 c00-c04 c3c c3e-c56 c62-c63 c81-c83 cbc cbe-cd6 ce2-ce3 d00-d03 d3b-d3c d3e-d4d "
    "d57 d62-d63 d81-d83 dca-ddf df2-df3 f18-f19 f35 f37 f39 f3e-f3f f71-f84 f86-f87 f8d-fbc fc6 135d-135f 1712-1715 "
    "1732-1734 1752-1753 1772-1773 180b-180d 180f 1885-1886 18a9 1920-193b 1a17-1a1b 1ab0-1abd 1abf-1ace 1b80-1b82 "
    "1ba1-1bad 1be6-1bf3 1c24-1c37 1cd0-1cd2 1cd4-1ce8 1ced 1cf4 1cf7-1cf9 1dc0-1dff 20d0-20dc 20e1 20e5-20f0 "
    "2cef-2cf1 2d7f 2de0-2dff a66f a674-a67d a69e-a69f a6f0-a6f1 a802 a806 a80b a823-a827 a82c a880-a881 a8b4-a8c5 "
    "a8e0-a8f1 a8ff a926-a92d a947-a953 aa29-aa36 aa43 aa4c-aa4d aaeb-aaef aaf5-aaf6 abe3-abea abec-abed fb1e "
    "fe20-fe2f 101fd 102e0 10376-1037a 10a01-10a0f 10a38-10a3f 10ae5-10ae6 10d24-10d27 10eab-10eac 10f46-10f50 "
    "10f82-10f85 11000-11002 11038-11046 11070 11073-11074 1107f-11082 110b0-110ba 110c2 11100-11102 11127-11134 "
    "11145-11146 11173 11180-11182 111b3-111c0 111c9-111cc 111ce-111cf 1122c-11237 1123e 112df-112ea 11300-11303 "
    "1133b-1133c 1133e-1134d 11357 11362-11374 11435-11446 1145e 114b0-114c3 115af-115c0 115dc-115dd 11630-11640 "
    "116ab-116b7 1182c-1183a 11930-1193e 11940 11942-11943 119d1-119e0 119e4 11a01-11a0a 11a33-11a39 11a3b-11a3e "
    "11a47 11a51-11a5b 11a8a-11a99 11c2f-11c3f 11c92-11cb6 11d31-11d45 11d47 11d8a-11d97 11ef3-11ef6 16af0-16af4 "
    "16b30-16b36 16f4f 16f51-16f92 1bc9d-1bc9e 1cf00-1cf46 1d165-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b "
    "1d1aa-1d1ad 1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1daaf 1e000-1e02a 1e130-1e136 1e2ae "
    "1e2ec-1e2ef 1e8d0-1e8d6 1e944-1e94a"
)
"""Combining marks of these scripts."""

UNSPACED = _class(
    "e01-e3a e40-e4e e50-e59 e81-edf 1000-1049 1050-109d 1780-17d3 17d7 17dc-17e9 1950-19d9 1a20-1a99 1aa7 1b00-1b59 "
    "1b6b-1b73 a980-a9c0 a9cf-a9d9 a9e0-a9fe aa60-aa76 aa7a-aadd 11700-11739 11740-11746"
)
"""Letters, digits and marks of the scripts of South East Asia that put no blanks between words."""

UNSPACED_MARKS = _class(
    "e31 e34-e3a e47-e4e eb1 eb4-ebc ec8-ecd 102b-103e 1056-1059 105e-1060 1062-1064 1067-106d 1071-1074 1082-108d "
    "108f 109a-109d 17b4-17d3 17dd 1a55-1a7f 1b00-1b04 1b34-1b44 1b6b-1b73 a980-a983 a9b3-a9c0 a9e5 aa7b-aa7d aab0 "
    "aab2-aab4 aab7-aab8 aabe-aabf aac1 1171d-1172b"
)
"""The marks among them."""

HIRAGANA = _class("3041-3096 309d-309f 30fc 1b001-1b11f 1b150-1b152")
"""Hiragana, and the mark of a long vowel."""

KATAKANA = _class("30a1-30fa 30fc-30ff 31f0-31ff ff66-ff9d 1aff0-1b000 1b120-1b122 1b164-1b167")
"""Katakana, half-width ones among them, and the mark of a long vowel."""

VOICED = _class("3099-309a ff9e-ff9f")
"""The marks that follow kana."""

FORMATS = _class("ad 34f 61c 180b-180f 200c-200f 202a-202e 2060-2064 2066-206f fe00-fe0f feff fff9-fffb e0000-e0fff")
"""Characters that say how text is to be shown, and are no part of a word: soft hyphens, joiners, directions, variation
selectors. U+200B is not among them: it stands where a word ends."""
