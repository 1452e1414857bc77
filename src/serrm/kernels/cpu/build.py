"""The build of the native kernels for this machine.

A library per dtype is compiled once by the machine's C++ compiler, then kept in a cache folder. float32 needs
a CPU with AVX2, and uses AVX-512 where the CPU has it, with the same results; bfloat16 needs AVX512-BF16, and products
use tile registers (AMX) where the CPU has them too. Elsewhere `library` raises NoKernels.
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
from torch import Tensor

from serrm.core.files import new_file

log = logging.getLogger(__name__)
SOURCES = Path(__file__).parent
COMPILERS = ("g++", "clang++", "c++")
# The compiler must not fuse a product and a sum into one operation, because that changes numbers.
FLAGS = ("-std=c++20", "-O3", "-fopenmp", "-fPIC", "-shared", "-fno-math-errno", "-ffp-contract=off")


class NoKernels(RuntimeError):
    """This machine cannot run the native kernels; the message is the reason."""


def has_avx512_bf16() -> bool:
    """Return True if the CPU has AVX512-BF16 and PyTorch may use it, which ATEN_CPU_CAPABILITY=avx2 forbids."""
    return torch.cpu._is_avx512_bf16_supported() and has_avx512()


def has_avx512() -> bool:
    """Return True if the CPU has AVX-512 and PyTorch uses it, which ATEN_CPU_CAPABILITY=avx2 forbids."""
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


def may_use_tiles() -> bool:
    """Request the tile registers of AMX; return True if the CPU has them and the system grants them to this process."""
    return torch.cpu._is_amx_tile_supported() and torch.cpu._init_amx()


def find_compiler() -> str | None:
    """Find the first installed C++ compiler."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


@lru_cache
def library(dtype: torch.dtype) -> ctypes.CDLL:
    """Load the kernels for states of bfloat16 or float32, compiled if necessary.

    Raises NoKernels without the instructions or a working compiler, OSError if the cache folder cannot be written.
    """
    target = library_path(dtype)
    if not target.is_file():
        log.info("compiling kernels, once (about half a minute)")
        _compile(_compiler(), _flags(dtype), target)
    # PyTorch's own OpenMP library is loaded already, and its symbols come first: one pool of threads.
    return ctypes.CDLL(str(target))


def library_path(dtype: torch.dtype) -> Path:
    """Return the file of the kernels for this machine, compiled or not. Raises NoKernels as `library`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "serrm" / f"{_digest(_compiler(), _flags(dtype))}.so"


def pointer(tensor: Tensor | None) -> ctypes.c_void_p:
    """Return the address of a contiguous tensor for a call of a kernel; None becomes null."""
    assert tensor is None or tensor.is_contiguous()
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def _compiler() -> str:
    if (compiler := find_compiler()) is None:
        raise NoKernels(f"no C++ compiler found (looked for {', '.join(COMPILERS)})")
    return compiler


@lru_cache
def has_kernels(dtype: torch.dtype) -> bool:
    """Compile the native kernels for states of `dtype` if necessary.

    Returns False, with a warning of the reason, if that is not possible.
    """
    try:
        library(dtype)
    except (NoKernels, OSError) as error:
        log.warning(
            "no native kernels for %s (%s); using PyTorch instead", str(dtype).removeprefix("torch."), error
        )
        return False
    return True


def _flags(dtype: torch.dtype) -> tuple[str, ...]:
    """Return the compiler's flags for the instructions that PyTorch may use here. NoKernels if they are too few."""
    if dtype == torch.bfloat16:
        if not has_avx512_bf16():
            raise NoKernels("this CPU has no AVX512-BF16")
        return (*FLAGS, "-march=native", "-DBFLOAT16", *(["-DTILES"] if may_use_tiles() else []))
    if has_avx512():
        return (*FLAGS, "-march=native")
    if torch.backends.cpu.get_cpu_capability() != "AVX2":
        raise NoKernels("this CPU has no AVX2")
    return (*FLAGS, "-mavx2", "-mfma")


def _digest(compiler: str, flags: tuple[str, ...]) -> str:
    """Name a build by its sources, compiler, flags and processor."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    digest = hashlib.sha256("\0".join((compiler, version, *flags, _processor())).encode())
    for path in sorted([*SOURCES.glob("*.h"), *SOURCES.glob("*.cpp")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _processor() -> str:
    """List the CPU's model and instruction sets, which `-march=native` compiles for."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def _compile(compiler: str, flags: tuple[str, ...], target: Path) -> None:
    """Compile under a temporary name, so that several processes may compile at once."""
    with new_file(target) as path:
        command = [compiler, *flags, str(SOURCES / "sublayers.cpp"), "-o", str(path)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            raise NoKernels(f"{compiler} failed: {process.stderr.strip().splitlines()[0]}")
