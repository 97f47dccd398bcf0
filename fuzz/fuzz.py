"""Fuzz a target with atheris: ``python fuzz/fuzz.py model_file -runs=10000``; the options are libFuzzer's.

Without a folder for the corpus, one is made, for model files of the golden ones.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["treewise"]):
    from targets import TARGETS, corpus


def main() -> None:
    """Run a target until it fails, or for as many runs as are asked for."""
    name, *options = sys.argv[1:]
    if all(option.startswith("-") for option in options):
        folder = Path(tempfile.mkdtemp(prefix=f"corpus-{name}-"))
        for number, content in enumerate(corpus(name)):
            folder.joinpath(f"seed-{number}").write_bytes(content)
        options.append(str(folder))
    if (dictionary := Path(__file__).with_name(f"{name}.dict")).exists():
        options.append(f"-dict={dictionary}")
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
