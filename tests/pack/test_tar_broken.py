"""Broken tar archives, built member by member.

Each is refused with its reason and position, within limits of memory. Archives that are only
unusual are read with a warning.
"""

import gzip
import lzma
import tarfile

import pytest
import tundish
import zstandard

from tests.helpers.format_batches import check_refused, refusal
from tests.helpers.program import needs_program
from tests.helpers.sources import image, keys

pytestmark = needs_program

END = bytes(1024)
PNG = image(1)


def header(name, size, kind=b"0", **changes):
    """Returns a ustar header; `changes` sets bytes, "at_124", before the checksum is computed."""
    info = tarfile.TarInfo(name)
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    block[124:136] = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    block[156:157] = kind
    for place, value in changes.items():
        at = int(place.removeprefix("at_"))
        block[at : at + len(value)] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name, data=PNG, kind=b"0", size=None, **changes):
    head = header(name, len(data) if size is None else size, kind, **changes)
    return head + data + bytes(-len(data) % 512)


def pax(*records, kind=b"x"):
    """Returns "LENGTH KEY=VALUE" records; a record may include a wrong length."""
    text = b""
    for record in records:
        line = b" " + record + b"\n"
        length = len(line) + 1
        while length < len(line) + len(b"%d" % length):
            length += 1
        text += b"%d" % length + line
    return member("pax", text, kind)


GOOD = member("a/1.png") + member("a/2.png", image(2))
WRONG_SUM = GOOD.replace(b"a/2.png", b"a/3.png")

BROKEN = {
    # Truncated archives, and files that are not archives.
    "cut in a header": (GOOD[:1200], "ends without an end mark: it was cut short"),
    "cut in a member": (GOOD[:560], "but only 48 follow: the archive was cut short"),
    "cut in the zeros after a member": (GOOD[:1000], "ends inside a member: it was cut short"),
    "cut before the end mark": (GOOD, "ends without an end mark: it was cut short"),
    "one block": (GOOD[:512], "but only 0 follow: the archive was cut short"),
    "half a block": (GOOD[:300], "it was cut short"),
    "text": (b"path,label\n" * 100, "it does not begin with a tar header"),
    "noise": (bytes(range(256)) * 8, "it does not begin with a tar header"),
    # Checksums.
    "the checksum is wrong": (WRONG_SUM + END, "a header fails its checksum"),
    "the checksum is no number": (
        GOOD + member("b.png").replace(b"\0 0", b"\0 x", 1)[:148] + b"????????" + bytes(356) + END,
        "a header fails its checksum",
    ),
    # Wrong lengths.
    "a size beyond the file": (member("a.png", size=10**9) + END, "1,000,000,000 bytes, but only"),
    "a size of 2^62": (member("a.png", size=2**62) + END, "but only"),
    "a size of 2^87": (
        header("a.png", 0, at_124=b"\xff" * 12) + END,
        "a header has no readable size",
    ),
    "a negative size": (
        header("a.png", 0, at_124=b"-0000000001\0") + END,
        "a header has no readable size",
    ),
    "a size that is no number": (
        header("a.png", 0, at_124=b"0000000009z\0") + END,
        "a header has no readable size",
    ),
    "a size too small": (
        member("a.png", PNG + b"x" * 600, size=3) + END,
        "a header fails its checksum",
    ),
    # Long names.
    "a GNU name beyond the file": (
        member("l", b"x" * 300, b"L", size=900_000) + END,
        "but only",
    ),
    "a GNU name over 1 MiB": (
        member("l", b"x" * (1 << 21), b"L") + member("a.png") + END,
        "has 2,097,152 bytes, at most 1,048,576 are allowed",
    ),
    "a GNU name of 2^62 bytes": (
        header("l", 2**62, b"L") + END,
        "at most 1,048,576 are allowed",
    ),
    "a GNU name that no member follows": (
        GOOD + member("l", b"x" * 300 + b".png", b"L") + END,
        "the archive ends where a member should follow",
    ),
    "a GNU name that is empty": (
        member("l", bytes(8), b"L") + member("a.png") + END,
        "a member has no name",
    ),
    "a member without a name": (member("") + END, "a member has no name"),
    # Pax headers.
    "a pax header that no member follows": (
        GOOD + pax(b"path=b.png") + END,
        "the archive ends where a member should follow",
    ),
    "a pax record longer than its header": (
        member("p", b"99 path=b.png\n", b"x") + member("a.png") + END,
        "a pax header is damaged",
    ),
    "a pax record of length 0": (
        member("p", b"0 path=b.png\n", b"x") + member("a.png") + END,
        "a pax header is damaged",
    ),
    "a pax record of length 2^70": (
        member("p", b"1180591620717411303424 path=b.png\n", b"x") + member("a.png") + END,
        "a pax header is damaged",
    ),
    "a pax record without a key": (
        member("p", b"7 path\n", b"x") + member("a.png") + END,
        "a pax header is damaged",
    ),
    "a pax size that is no number": (
        pax(b"size=12x") + member("a.png") + END,
        "a pax header has no readable size",
    ),
    "a pax size below 0": (
        pax(b"size=-1") + member("a.png") + END,
        "a pax header has no readable size",
    ),
    "a pax size over 2^63": (
        pax(b"size=18446744073709551615") + member("a.png") + END,
        "has an impossible size",
    ),
    "a pax size beyond the file": (
        pax(b"size=5000000") + member("a.png") + END,
        "5,000,000 bytes, but only",
    ),
    "a pax path with a zero byte": (
        pax(b"path=a\0b.png") + member("a.png") + END,
        "a name holds a zero byte",
    ),
    "pax headers without end": (
        pax(b"path=b.png") * 1_200 + member("a.png") + END,
        "too many extended headers in a row",
    ),
    "GNU names and pax headers by turns": (
        (member("l", b"c.png\0", b"L") + pax(b"path=b.png")) * 600 + member("a.png") + END,
        "too many extended headers in a row",
    ),
    # Unsupported features.
    "a sparse file of GNU": (
        GOOD + member("s.png", kind=b"S") + END,
        "'s.png' is stored with holes (tar --sparse), which is not supported",
    ),
    "a sparse file by pax": (
        pax(b"GNU.sparse.major=1", b"GNU.sparse.realsize=99") + member("s.png") + END,
        "is stored with holes",
    ),
    "a part of a multi-volume archive": (
        member("m.png", kind=b"M") + END,
        "one part of a multi-volume archive",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_is_refused(name, tmp_path):
    data, reason = BROKEN[name]
    check_refused(tmp_path / "a.tar", data, "TND-306", reason)


def test_the_same_name_twice_is_refused(tmp_path):
    check_refused(tmp_path / "a.tar", GOOD + GOOD + END, "TND-307", "'a/1' comes again")


def test_cyclic_links_are_omitted(tmp_path):
    """Links have no data and are not followed."""
    loop = member("a/3.png", b"", b"2", at_157=b"3.png") + member(
        "a/4.png", b"", b"1", at_157=b"a/4.png"
    )
    up = member("a/5.png", b"", b"2", at_157=b"../../../etc/passwd")
    lying = member("a/6.png", b"", b"1", size=10**9)  # the size of a link is ignored
    path = tmp_path / "a.tar"
    path.write_bytes(GOOD + loop + up + lying + END)
    assert keys(path) == [b"a/1.png", b"a/2.png"]
    links = pytest.warns(UserWarning, match="4 links are left out")
    with links, pytest.warns(UserWarning, match="all samples have label 0"):
        tundish.Loader(path, 1, backend="numpy").close()


def test_an_archive_in_an_archive_is_a_file_of_bytes(tmp_path):
    """Nested archives are not opened at any depth."""
    inner = GOOD + END
    for _ in range(50):
        inner = member("x.tar", inner) + END
    path = tmp_path / "a.tar"
    path.write_bytes(member("x.png") + inner[: -len(END)] + END)
    assert keys(path) == [b"x.png"]
    with pytest.warns(UserWarning, match="samples have no labels"):
        loader = tundish.Loader(path, 1, as_dict=True, backend="numpy")
    with loader:
        (batch,) = loader
    assert len(batch["tar"][0]) == len(inner) - len(END) - 512


def test_overlong_names_are_left_out(tmp_path):
    long = b"d/" * 3_000 + b"x.png"
    path = tmp_path / "a.tar"
    for first in (member("l", long + b"\0", b"L"), pax(b"path=" + long)):
        path.write_bytes(GOOD + first + member("a.png") + END)
        assert keys(path) == [b"a/1.png", b"a/2.png"]


def test_pax_names_pointing_outside_stay_inside(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(pax(b"path=/../../etc/cron.d/x.png") + member("a.png") + END)
    assert keys(path) == [b"etc/cron.d/x.png"]


# --- compressed -------------------------------------------------------------------------------


def bomb(compressor, total):
    """Returns a compressed member of `total` zeros and an invalid header, made in pieces."""
    pieces = [compressor.compress(header("a.png", total))]
    piece = bytes(1 << 20)
    pieces += [compressor.compress(piece) for _ in range(total >> 20)]
    return b"".join([*pieces, compressor.compress(b"?" * 512), compressor.flush()])


@pytest.mark.parametrize(
    ("size", "code", "reason"),
    [
        (200 << 20, "TND-306", "a header fails its checksum (counted in the unpacked zstd data)"),
        (1 << 30, "TND-315", "more than 1,100 times as many"),
    ],
)
def test_a_bomb_is_unpacked_in_pieces(size, code, reason, tmp_path):
    """Less than 1 MiB expands to zeros and a broken header; unpacking stops after 256 MiB."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    path = tmp_path / "a.tar.zst"
    path.write_bytes(bomb(compressor, size))
    assert path.stat().st_size < 1 << 20
    found, message = refusal(path)
    assert found == code
    assert reason in message


def test_a_member_of_a_bomb_is_one_bad_sample(tmp_path):
    """A "photo" of 257 MiB in a few kilobytes exceeds the limit before memory is allocated."""
    out = zstandard.ZstdCompressor(level=1).compressobj()
    pieces = [out.compress(member("a.png") + header("b.png", 257 << 20))]
    pieces += [out.compress(bytes(1 << 20)) for _ in range(257)]
    path = tmp_path / "a.tar.zst"
    path.write_bytes(b"".join([*pieces, out.compress(END), out.flush()]))
    report = tundish.pack(path, tmp_path / "a.tnd", progress=False, skip_bad=True)
    assert len(tundish.Dataset(tmp_path / "a.tnd")) == 1
    assert "269,484,032 bytes, at most" in str(report)


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_a_damaged_compressed_archive_is_refused(kind, tmp_path):
    compress = {
        "gz": gzip.compress,
        "xz": lzma.compress,
        "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    }[kind]
    data = bytearray(compress(GOOD + END))
    check_refused(tmp_path / "a.tar", data[:-3], "TND-312", "")
    data[len(data) // 2] ^= 0x55
    check_refused(tmp_path / "a.tar", bytes(data), "TND-312", "")
    check_refused(tmp_path / "a.tar", compress(GOOD), "TND-306", "counted in the unpacked")


def test_a_doubly_compressed_archive_is_refused(tmp_path):
    check_refused(
        tmp_path / "a.tar", gzip.compress(gzip.compress(GOOD + END)), "TND-306", "does not begin"
    )
