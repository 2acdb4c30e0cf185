"""Kinds of characters, such as digit or combining mark, as bits: a table holds the bits of every code point."""

WORD = 1  # A word character (``\\w``).
SLOW = 2  # Python makes its forms: they depend on its neighbours, or are not in the tables.
IGNORABLE = 4  # A character that is not shown; `TextForm` 2 leaves it out.
COMPOSED = 8  # Unicode's form NFC may change it or join it with one before it, or it is a format.
FORMAT = 16  # A character that controls how text is shown, and is no part of a word.
KEPT = 32  # A character of normal forms: a letter, a number or a mark.

# In words that jieba does not know:
PART = 64  # A letter, a digit or a mark of a script that puts blanks between words.
DIGIT = 128  # ASCII's digits are of this kind, too.
MARK = 256
HIRAGANA = 512
KATAKANA = 1024
UNSPACED = 2048  # A character of a script of South East Asia that puts no blanks between words.
EXTENDS = 4096  # A character that stays with the one before it, of a script without blanks.
MID_LETTER = 8192
MID_NUMBER = 16384
HEBREW = 32768

BLANKLESS = HIRAGANA | KATAKANA | UNSPACED  # Scripts without blanks, except Han.

HAN_FIRST = 0x4E00  # The range of Han characters that jieba knows.
HAN_LAST = 0x9FD5
