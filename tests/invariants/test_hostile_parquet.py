"""Damaged Parquet files: a table or a ``DataError`` that names the file, never a signal or a panic.

The files are read in a child process, whose end is observed. ``TREEWISE_LONG=1`` reads 15,000 instead of 300, and
``python -m tests.invariants.test_hostile_parquet FIRST LAST`` some of them, with what became of each.
"""

import datetime as dt
import io
import os
import random
import subprocess
import sys
from collections import Counter
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from treewise.data.parquet_file import check_parquet
from treewise.data.table import read, read_bytes
from treewise.errors import DataError

N_FILES = 15_000 if os.environ.get("TREEWISE_LONG") else 300


def honest_files():
    """Return files of several writers, compressions and encodings, with all types of columns."""
    n, rng = 300, np.random.default_rng(0)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in rng.integers(0, 999, n).tolist()]
    frame = pl.DataFrame(
        {
            "i": rng.integers(0, 1000, n),
            "f": rng.normal(size=n),
            "s": [f"text{i % 17}" for i in range(n)],
            "u": [f"u{i}" for i in range(n)],
            "b": rng.random(n) < 0.5,
            "d": days,
            "n": [None if i % 3 == 0 else i for i in range(n)],
            "c": pl.Series([f"k{i % 4}" for i in range(n)], dtype=pl.Categorical),
            "m": [Decimal(i) / 100 for i in range(n)],
        }
    )
    delta = {"i": "DELTA_BINARY_PACKED", "f": "BYTE_STREAM_SPLIT", "u": "DELTA_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED"}
    files = []
    for compression in ("uncompressed", "snappy", "zstd", "gzip", "lz4"):
        frame.write_parquet(file := io.BytesIO(), compression=compression)
        files.append(file.getvalue())
    for options in (
        {"compression": "none"},
        {"compression": "none", "use_dictionary": False},
        {"compression": "snappy", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "column_encoding": delta},
        {"compression": "brotli", "row_group_size": 70, "data_page_size": 128},
        {"compression": "none", "write_page_checksum": True, "write_page_index": True},
    ):
        parquet.write_table(frame.to_arrow(), file := io.BytesIO(), **options)
        files.append(file.getvalue())
    return files


def damage(content, seed):
    """Return a damaged copy: bits flipped (half of them in page headers and metadata), bytes changed, parts cut."""
    rng, copy = random.Random(seed), bytearray(content)
    kind, n = rng.choice(["bit", "bit", "count", "count", "footer", "bytes", "cut", "zero"]), len(content)
    place = rng.randrange(4, n)
    if kind == "footer":
        place = rng.randrange(n - 8 - int.from_bytes(copy[-8:-4], "little"), n)
    if kind in ("bit", "footer"):
        copy[place] ^= 1 << rng.randrange(8)
    elif kind == "count":  # an integer of Thrift, such as a number of values: changed in sign or size
        place = rng.choice([i for i in range(4, n - 1) if copy[i] == 0x15])
        copy[place + 1] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        for _ in range(rng.randrange(1, 20)):
            copy[rng.randrange(n)] = rng.randrange(256)
    elif kind == "cut":
        copy = copy[:place] + copy[-8:] * rng.randrange(2)
    else:
        size = min(n - place, rng.randrange(1, 64))
        copy[place : place + size] = bytes([rng.choice([0, 255])]) * size
    return bytes(copy)


def read_damaged(first, last):
    """Read damaged files and print what became of each."""
    files = honest_files()
    for seed in range(first, last):
        print(seed, end=" ", flush=True)
        try:
            table = read_bytes(b"PAR1" + damage(files[seed % len(files)], seed)[4:], "t.parquet", ())
            table.convert(table.columns)
            for name in table.columns:
                table[name]
            print("read", flush=True)
        except DataError as error:
            print("refused" if "t.parquet" in str(error) or "column" in str(error) else f"unclear {error}", flush=True)
        except BaseException as error:
            print("escaped", repr(error)[:200], flush=True)


def outcomes(first, last):
    """Read damaged files in child processes, one after another until all are read; count what became of them."""
    counts = Counter()
    while first < last:
        call = [sys.executable, "-m", "tests.invariants.test_hostile_parquet", str(first), str(last)]
        child = subprocess.run(call, capture_output=True, text=True, check=False)
        lines = child.stdout.splitlines()
        counts.update(" ".join(line.split()[1:]) or f"ended with {child.returncode}" for line in lines)
        if not lines:
            raise AssertionError(child.stderr[-2000:])
        first = int(lines[-1].split()[0]) + 1
    return counts


def test_damage_never_ends_the_process():
    counts = outcomes(0, N_FILES)
    assert set(counts) <= {"read", "refused"}, counts
    assert counts["refused"] > N_FILES // 4


def test_a_negative_count_of_values_is_refused():
    """One flipped bit makes 108 values -109, by which polars would try to allocate 2 EB and abort."""
    content = honest_files()[6]
    place = content.index(b"\x15\xd8\x04") + 1  # 300 values, zigzag
    with pytest.raises(DataError, match=r't\.parquet is damaged: .*column "i": a page has -301 values'):
        check_parquet(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :], "t.parquet")


def test_a_wrong_checksum_is_refused():
    content = bytearray(honest_files()[-1])
    content[content.index(b"text3") + 2] ^= 1
    with pytest.raises(DataError, match=r"t\.parquet is damaged: .*checksum"):
        read_bytes(bytes(content), "t.parquet", ())


def test_honest_files_pass():
    for content in honest_files():
        assert len(read_bytes(content, "t.parquet", ())) == 300
    nested = pa.table({"l": [[1, 2], [], None], "s": [{"a": 1}, {"a": 2}, None], "e": [None] * 3, "x": [1, 2, 3]})
    for options in ({}, {"data_page_version": "2.0"}, {"write_page_checksum": True}, {"store_schema": False}):
        parquet.write_table(nested, file := io.BytesIO(), **options)
        table = read_bytes(file.getvalue(), "t.parquet", ())
        assert table["x"].values.tolist() == [1, 2, 3]
        for name in ("l", "s"):
            with pytest.raises(DataError, match=f'column "{name}" holds (List|Struct)'):
                table[name]


def test_wide_decimals_are_refused_by_name():
    parquet.write_table(pa.table({"x": pa.array([Decimal(1)], pa.decimal256(40))}), file := io.BytesIO())
    with pytest.raises(DataError, match=r'column "x" of t\.parquet: decimals of 40 digits .* pyarrow'):
        read_bytes(file.getvalue(), "t.parquet", ())


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_files_are_named(tmp_path, plaintext_footer):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def wrap_key(self, key_bytes, master_key_identifier):
            return key_bytes.hex().encode()

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return bytes.fromhex(wrapped_key.decode())

    configuration = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["x"]}, plaintext_footer=plaintext_footer
    )
    properties = encryption.CryptoFactory(lambda _: Keys()).file_encryption_properties(
        encryption.KmsConnectionConfig(), configuration
    )
    path = tmp_path / "secret.parquet"
    with parquet.ParquetWriter(path, pa.schema({"x": pa.int64()}), encryption_properties=properties) as writer:
        writer.write_table(pa.table({"x": [1, 2]}))
    with pytest.raises(DataError, match=r"secret\.parquet is encrypted\. Decrypt it first"):
        read(path)


if __name__ == "__main__":
    read_damaged(int(sys.argv[1]), int(sys.argv[2]))
