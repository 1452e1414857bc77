"""The library of native kernels: compiled once for this machine by its C++ compiler, then kept in a cache folder.

Only for a CPU with bfloat16 arithmetic (AVX512-BF16) and a compiler; elsewhere `library` raises NoKernels.
Products go through tile registers (AMX) where the CPU has them too.
"""

import ctypes
import hashlib
import logging
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import torch

from serrm.files import new_file

log = logging.getLogger(__name__)
SOURCES = Path(__file__).parent
COMPILERS = ("g++", "clang++", "c++")
FLAGS = ("-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-fno-math-errno")


class NoKernels(RuntimeError):
    """This machine cannot run the native kernels; the message is the reason."""


def has_avx512_bf16() -> bool:
    """True if the CPU has AVX512-BF16 and PyTorch may use it, which ATEN_CPU_CAPABILITY=avx2 forbids."""
    return torch.cpu._is_avx512_bf16_supported() and has_avx512()


def has_avx512() -> bool:
    """True if the CPU has AVX-512 and PyTorch uses it, which ATEN_CPU_CAPABILITY=avx2 forbids."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def may_use_tiles() -> bool:
    """Request the tile registers of AMX; True if the CPU has them and the system grants them to this process."""
    return torch.cpu._is_amx_tile_supported() and torch.cpu._init_amx()


def find_compiler() -> str | None:
    """The first C++ compiler there is."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled kernels.

    Raises NoKernels without the instructions or a working compiler, OSError if the cache folder cannot be written.
    """
    if not has_avx512_bf16():
        raise NoKernels("this CPU has no AVX512-BF16")
    if (compiler := find_compiler()) is None:
        raise NoKernels(f"no C++ compiler found (looked for {', '.join(COMPILERS)})")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    target = cache / "serrm" / f"{_digest(compiler)}.so"
    if not target.is_file():
        _compile(compiler, target)
    # PyTorch's own OpenMP library is loaded already, and its symbols come first: one pool of threads.
    return ctypes.CDLL(str(target))


@lru_cache(maxsize=1)
def has_kernels() -> bool:
    """Compile the native kernels if need be; False, with a warning of the reason, if that is not possible."""
    try:
        library()
    except (NoKernels, OSError) as error:
        log.warning("no native kernels: %s; using PyTorch's", error)
        return False
    return True


def _flags() -> tuple[str, ...]:
    return (*FLAGS, "-DTILES") if may_use_tiles() else FLAGS


def _digest(compiler: str) -> str:
    """Names a build: the sources, the compiler and the processor it is made for."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    digest = hashlib.sha256("\0".join((compiler, version, *_flags(), _processor())).encode())
    for path in sorted([*SOURCES.glob("*.h"), *SOURCES.glob("*.cpp")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _processor() -> str:
    """Model and instruction sets of the CPU, which `-march=native` compiles for."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def _compile(compiler: str, target: Path) -> None:
    """Several processes may do so at once: each compiles under a name of its own."""
    with new_file(target) as built:
        command = [compiler, *_flags(), str(SOURCES / "sublayers.cpp"), "-o", str(built)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoKernels(f"{compiler} failed: {done.stderr.strip().splitlines()[0]}")
