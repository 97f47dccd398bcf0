"""How much memory may still be allocated."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int:
    """Return how many bytes may still be allocated: by the machine, the container and the limits of the process."""
    sizes = []
    for path, key in (("/proc/meminfo", "MemAvailable:"),):
        try:
            with open(path, encoding="ascii") as file:
                sizes += [int(line.split()[1]) * 1024 for line in file if line.startswith(key)]
        except OSError:
            sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            sizes.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    try:
        import resource

        limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        sizes += [limit for limit in limits if limit != resource.RLIM_INFINITY]
    except ImportError:  # no such limits
        pass
    return min(sizes)
