"""Tables whose columns are in files (``memory=``), and tables of many files, when something goes wrong.

Kills at random moments, damaged temporary files, files that change while they are read, several processes with the same
folder, forks, few file descriptors, a temporary folder of someone else's, and damaged input: the same columns as
always, or a ``DataError``, and nothing left behind. Full disks are in ``test_disks.py``.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import polars as pl
import pytest

import treewise as tw
from tests.support.subprocesses import ROOT, run_function, send_result, start_function
from treewise.data import batches, csv_chunks
from treewise.data.table import read
from treewise.errors import DataError
from treewise.formats.model_file.model_file import dumps

LONG = bool(os.environ.get("TREEWISE_LONG"))
UNIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, kills and permissions of Unix")
N_ROWS = 3000
SMALL = N_ROWS * (4 + 48) + 1  # bytes in which a tree can grow, but that do not hold the columns


def make_table():
    rng = np.random.default_rng(3)
    columns = {"x": rng.normal(size=N_ROWS), "k": rng.integers(0, 9, N_ROWS), "t": rng.choice(["u", "v", "w"], N_ROWS)}
    return pl.DataFrame(columns | {"y": rng.choice(["yes", "no"], N_ROWS)})


def write_files(folder, ending):
    paths = [str(folder / f"part-{i}.{ending}") for i in range(3)]
    for path, part in zip(paths, make_table().iter_slices(N_ROWS // 3), strict=True):
        part.write_csv(path) if ending == "csv" else part.write_parquet(path, row_group_size=100)
    return paths


def grow_model(data, **options):
    return dumps(tw.grow(data, "y", max_depth=3, **options))


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


# -- processes --------------------------------------------------------------------------------------------------------


def grow_slowly(*paths):
    """Grow a tree in small batches."""
    csv_chunks.CHUNK, batches._CELLS = 1000, 100
    grow_model(list(paths), memory=SMALL)


@UNIX
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_kills_at_random_moments_and_damaged_folders_change_nothing(tmp_path, temporary, ending):
    paths, rng, n_left = write_files(tmp_path, ending), random.Random(ending), 0
    for _ in range(60 if LONG else 6):
        command = [sys.executable, "-m", "tests.invariants.test_large_table_faults", "grow_slowly", *paths]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
            while process.poll() is None and not list(temporary.glob("*/*/journal")):
                time.sleep(0.002)
            time.sleep(rng.random() * 0.1)
            process.kill()
        for file in temporary.glob("*/*/*"):
            n_left += file.name == "journal"
            size = file.stat().st_size
            damage = rng.choice(["none", "none", "cut", "bytes"])
            if size and damage == "cut":  # a loss of power leaves such files behind
                os.truncate(file, rng.randrange(size))
            elif size and damage == "bytes":
                file.write_bytes(rng.randbytes(size))
    assert n_left
    assert grow_model(paths, memory=SMALL) == grow_model(make_table())
    assert list(temporary.iterdir()) == []


def grow_again_and_again(path, times):
    """Grow several times and print what was not as expected."""
    expected, wrong = grow_model(make_table()), []
    for _ in range(int(times)):
        try:
            if grow_model(path, memory=SMALL) != expected:
                wrong.append("another tree")
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")
    send_result(wrong)


@UNIX
def test_processes_that_read_the_same_files_at_the_same_time(tmp_path, temporary):
    path = str(tmp_path / "t.csv")
    make_table().write_csv(path)
    times = 300 if LONG else 40
    processes = [start_function(__file__, "grow_again_and_again", path, times) for _ in range(4)]
    assert [json.loads(process.communicate(timeout=600)[0]) for process in processes] == [[]] * 4
    assert list(temporary.iterdir()) == []


def fork_and_read(*paths):
    """Read, fork, read in the child, let the child end, and read the text columns in the parent."""
    table = read(list(paths), memory=SMALL)
    pid = os.fork()
    if pid == 0:
        try:
            read(list(paths))
        except DataError as error:
            print(error, flush=True)
        sys.exit()  # with what Python does at the end of a process
    os.waitpid(pid, 0)
    send_result(grow_model(table) == grow_model(make_table()))


@UNIX
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_child_of_a_fork_is_told_and_takes_nothing_from_its_parent(tmp_path, temporary, ending):
    message, same = run_function(__file__, "fork_and_read", *write_files(tmp_path, ending), timeout=60).splitlines()
    assert "does not survive a fork" in message
    assert same == "true"
    assert list(temporary.iterdir()) == []


def grow_wide(path):
    """Grow on 300 columns with few file descriptors."""
    import resource

    grow_model(make_table())  # all modules are loaded
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    send_result(grow_model(path, memory=50 * (301 + 48) + 1))


@UNIX
def test_many_columns_need_few_file_descriptors(tmp_path, temporary):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.integers(0, 9, 50) for i in range(300)} | {"y": rng.choice(["a", "b"], 50)})
    frame = frame.with_columns(pl.col("x1", "x2").cast(pl.String))
    frame.write_parquet(tmp_path / "wide.parquet")
    assert json.loads(run_function(__file__, "grow_wide", tmp_path / "wide.parquet")) == grow_model(frame)


# -- the temporary folder ---------------------------------------------------------------------------------------------


@UNIX
@pytest.mark.parametrize("trap", ["open", "link", "file", "dangling"])
def test_a_folder_that_others_prepared_is_not_used(tmp_path, temporary, trap):
    paths, elsewhere = write_files(tmp_path, "csv"), tmp_path / "elsewhere"
    usual = temporary / f"treewise-{os.getuid()}"
    if trap == "open":
        usual.mkdir()
        usual.chmod(0o777)
    elif trap == "file":
        usual.write_text("kept")
    else:
        elsewhere.mkdir(mode=0o700)
        usual.symlink_to(elsewhere if trap == "link" else tmp_path / "nowhere")
    table = read(paths, memory=SMALL)
    used = [path.parent for path in temporary.glob("*/*/journal")]
    assert len(used) == 1
    assert used[0].parent != usual
    assert used[0].stat().st_mode & 0o077 == 0
    assert grow_model(table) == grow_model(make_table())
    del table
    assert list(temporary.iterdir()) == [usual]
    if trap == "link":
        assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_temporary_folder_that_may_not_be_written_to(tmp_path, temporary):
    paths = write_files(tmp_path, "csv")
    temporary.chmod(0o500)
    with pytest.raises(DataError, match="TMPDIR"):
        read(paths, memory=SMALL)


# -- files that change ------------------------------------------------------------------------------------------------

CHANGES = {
    "longer": lambda frame: pl.concat([frame, frame]),
    "shorter": lambda frame: frame[:17],
    "other rows": lambda frame: frame.reverse(),
    "other types": lambda frame: frame.with_columns(x=pl.col("t")),
    "other columns": lambda frame: frame.rename({"x": "z"}),
    "gone": None,
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_files_that_change_while_they_are_read_are_refused(tmp_path, temporary, monkeypatch, ending, change):
    paths = write_files(tmp_path, ending)
    reader = batches._CsvReader if ending == "csv" else batches._ParquetReader
    read_batches = reader.batches

    def change_and_read(self, start):
        frame = pl.read_csv(paths[1]) if ending == "csv" else pl.read_parquet(paths[1])
        os.unlink(paths[1])
        if change is not None:
            changed = change(frame)
            changed.write_csv(paths[1]) if ending == "csv" else changed.write_parquet(paths[1])
        return read_batches(self, start)

    monkeypatch.setattr(reader, "batches", change_and_read)
    for memory in (None, SMALL):
        with pytest.raises(DataError, match=rf"part-1\.{ending} changed while it was read\. Read it again"):
            read(write_files(tmp_path, ending), memory=memory)
    assert list(temporary.iterdir()) == []


# -- damaged files ----------------------------------------------------------------------------------------------------


def test_damaged_gzip_files_are_read_or_refused_with_a_data_error(tmp_path):
    rng, outcomes = random.Random(0), set()
    content = gzip.compress(make_table()[:500].write_csv().encode())
    for _ in range(3000 if LONG else 200):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path = tmp_path / "t.csv.gz"
        path.write_bytes(damaged[: rng.choice([None, rng.randrange(3, len(damaged))])])
        try:
            outcomes.add(read([path]).n_rows)
        except DataError:
            outcomes.add("refused")
    assert "refused" in outcomes


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\x1e\x8b\x08" + bytes(50))
    with pytest.raises(DataError, match=r"t\.csv"):
        read([path])


def test_an_endless_cell_is_refused_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,y\n1,a\n2,b"q\n3,"' + "z" * 200_000 + '"\n4,b\n')
    with pytest.raises(DataError, match=r"t\.csv line 4 is not proper CSV"):
        read([path])


def test_few_pieces_of_a_file_are_read_that_has_no_place_to_cut(tmp_path, monkeypatch):
    """Each piece is as long as all before it, so that the time grows with the length of the file, not its square."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n\n" + "3,4\n\n" * 5000)  # no two lines side by side
    monkeypatch.setattr(csv_chunks, "CHUNK", 10)
    searched, search = [], csv_chunks._end_of_lines
    monkeypatch.setattr(csv_chunks, "_end_of_lines", lambda data, by: searched.append(len(data)) or search(data, by))
    assert read([path]).n_rows == 5001
    assert sum(searched) < 10 * path.stat().st_size


def test_blank_lines_are_passed_quickly():
    began = time.process_time()
    assert csv_chunks._end_of_lines(b"a,b\n1,2\n" + b"\n" * 3_000_000, ",") == 4
    assert time.process_time() - began < 1.5  # line by line it takes three times as long


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
