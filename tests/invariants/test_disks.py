"""A really full disk, and folders that may not be written to: a clear error, the old file whole, nothing left behind.

The full disk is a small tmpfs, which only root can mount; the unprivileged user is set with ``setpriv``.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

import treewise as tw
from tests.support.subprocesses import ROOT
from treewise.errors import DataError

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs root on Linux to mount a small disk"
)

COMMANDS = (
    "grow penguins --target species -o m.json -q",
    "grow penguins --ensemble forest --n-estimators 30 -o m.json -q",
    "predict old.json penguins --proba -o m.json",
    "report old.json penguins -o m.html",
    "draw old.json -o m.svg",
    "rules old.json -o m.csv",
    "trace old.json penguins -o m.md",
    "curve penguins -o m.csv",
    "export old.json -o m.txt",
)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def run(line, folder, *before):
    environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{ROOT}"}
    return subprocess.run(
        [*before, sys.executable, "-m", "treewise", *line.split()],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_full_disk_is_named_by_the_file_that_is_on_it(small_disk, tmp_path):
    """The predictions are elsewhere, and are not kept without their bad rows."""
    tw.grow({"x": [1, 2, 3, 4], "y": list("aabb")}, "y").save(tmp_path / "m.json")
    (tmp_path / "bad.csv").write_text("x\n1\n" + "far\n" * 20_000)
    ended = run("predict m.json bad.csv --on-error skip --bad-rows disk/bad.csv -o o.csv", tmp_path)
    assert ended.returncode == 3
    assert "cannot save disk/bad.csv: no space left on device" in ended.stderr
    assert not (tmp_path / "o.csv").exists()
    assert os.listdir(small_disk) == []


@pytest.mark.parametrize("line", COMMANDS)
def test_a_full_disk_keeps_the_old_file(small_disk, line):
    tree = tw.grow("penguins", max_depth=2)
    tree.save(small_disk / "old.json")
    name = line.split()[line.split().index("-o") + 1]
    (small_disk / name).write_text("old")
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(512)):
                pass
        except OSError:
            pass
    completed = run(line, small_disk)
    assert completed.returncode == 3, completed.stderr
    assert f"cannot save {name}: no space left on device. Nothing was saved." in completed.stderr
    assert (small_disk / name).read_text() == "old"
    assert sorted(path.name for path in small_disk.iterdir()) == sorted(["filler", name, "old.json"])


def test_python_says_that_the_disk_is_full(small_disk):
    (small_disk / "m.json").write_text("old")
    with pytest.raises(OSError, match=r"no space left on device\. Nothing was saved"):
        tw.forest("penguins", "species", n_estimators=2000).save(small_disk / "m.json")
    assert (small_disk / "m.json").read_text() == "old"
    assert [path.name for path in small_disk.iterdir()] == ["m.json"]


@pytest.mark.parametrize("free", [0, 4, 8, 16, 40])
def test_a_temporary_folder_without_room_for_the_columns(small_disk, tmp_path, monkeypatch, free):
    """Whichever file finds no room: the folder, the lock, the columns, or the journal."""
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    frame = tw.datasets.penguins().to_polars()
    frame.write_csv(tmp_path / "t.csv")
    (small_disk / "filler").write_bytes(bytes((64 - free) << 10))
    n_bytes = len(frame) * (frame.width + 48) + 1
    try:
        tree = tw.grow(str(tmp_path / "t.csv"), "species", memory=n_bytes)
    except DataError as error:
        assert "TMPDIR" in str(error)
    else:
        assert tree == tw.grow("penguins", "species")
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path, line):
    folder = tmp_path / "kept"
    folder.mkdir()
    tw.grow("penguins", max_depth=2).save(folder / "old.json")
    os.chmod(folder / "old.json", 0o644)
    for parent in (folder, *folder.parents[:-1]):
        if parent.stat().st_uid == os.getuid() and "pytest" in str(parent):
            os.chmod(parent, 0o755)
    ids = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    loads = [*ids, sys.executable, "-c", "import treewise._core"]  # an editable installation rebuilds as its owner only
    if subprocess.run(loads, cwd=folder, capture_output=True, check=False).returncode != 0:
        pytest.skip("the package is not readable for other users")
    completed = run(line, folder, *ids)
    assert completed.returncode == 2, completed.stderr
    name = line.split()[line.split().index("-o") + 1]
    assert f'cannot save {name}: the folder "{folder}" may not be written to. Nothing was saved.' in completed.stderr
    assert [path.name for path in folder.iterdir()] == ["old.json"]
