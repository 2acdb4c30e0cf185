"""The form of row keys, ``segment (4 bytes) | flag (1 byte) | rest``, and the lengths and flags in it.

Every row of an index has this form, so all kinds of rows spread evenly over the regions of a table. The flag tells the
kinds apart; segment and flag together are the *prefix* that a scan asks for.

==========  =====================================  ===========  ==========================  ======
row         segment                                flag         rest                        family
==========  =====================================  ===========  ==========================  ======
block       the chosen blocks' bits, left-aligned  1 … tables   simhash, 8 bytes            ``b``
sketch      upper 32 bits of a group's hash        tables + 1 … simhash, 8 bytes            ``b``
passage     upper 32 bits of a passage's hash      252          simhash, 8 bytes            ``b``
members     top 32 bits of the simhash             0            simhash, 8 bytes            ``d``
copies      first 4 bytes of the id's digest       253          the digest, 16 bytes        ``d``
document    first 4 bytes of the id's digest       255          the digest, 16 bytes        ``d``
index       0                                      254          a name in ASCII             ``m``
==========  =====================================  ===========  ==========================  ======

Block, sketch and passage rows are one kind to the stores, and all are meant where the stores speak of block rows. They
lead from blocks of a fingerprint's bits, from a group of a MinHash sketch's minima, or from a passage of a text to the
fingerprints that have them. A row of members has a cell for each document with the fingerprint, and a row of copies one
for each copy of an original. A member's qualifier is the digest of its id and `TEXT_BYTES` of the digest of its text,
if there is one. All integers are big-endian, so that byte order is numeric order.
"""

SIMHASH_BITS = 64
SEGMENT_BITS = 32
FLAG_BITS = 8
PREFIX_BITS = SEGMENT_BITS + FLAG_BITS

SIMHASH_BYTES = 8
SEGMENT_BYTES = 4
PREFIX_BYTES = 5
SKETCH_BYTES = 64
COUNT_BYTES = 4
PASSAGE_BYTES = 8
BLOCK_ROW_BYTES = PREFIX_BYTES + SIMHASH_BYTES
ID_DIGEST_BYTES = 16
TEXT_BYTES = 8
DOCUMENT_ROW_BYTES = PREFIX_BYTES + ID_DIGEST_BYTES
MEMBER_ROW_BYTES = PREFIX_BYTES + SIMHASH_BYTES
MEMBER_ID_BYTES = MEMBER_ROW_BYTES + ID_DIGEST_BYTES  # Length of a member's key up to the end of the id's digest.

FLAG_MEMBERS = 0
FLAG_PASSAGES = 252
FLAG_COPIES = 253
FLAG_INDEX = 254
FLAG_DOCUMENT = 255
# Flags 1 … 251 are block tables, then bands.
MAX_TABLES = 251

FAMILY_BLOCKS = "b"
FAMILY_DOCUMENTS = "d"
FAMILY_INDEX = "m"
FAMILIES = (FAMILY_BLOCKS, FAMILY_DOCUMENTS, FAMILY_INDEX)

# The one cell of a document row, and the one cell of each index row.
STATE_QUALIFIER = b"s"
VALUE_QUALIFIER = b"v"
