"""Source `hub`: the published files, from Hugging Face (9×9) and GitHub (4×4, 25×25), at pinned commits.

huggingface_hub says where a file of a data set lies; the download is ours for all three, because
`hf_hub_download` discards an unfinished file when it fails, and train.csv alone has 719 MB.
Paper: appendix, data sets.
"""

import shutil
import tarfile
import zlib
from pathlib import Path

from huggingface_hub import hf_hub_url

from serrm.manifest import Origin
from serrm.sources.download import download
from serrm.sources.sudoku_layout import FILE_4X4, FOLDER_25X25, FOLDER_EXTREME
from serrm.sources.sudoku_settings import GitHubFile, GitHubFolder, HubSource, HuggingFaceFiles


def download_hub(source: HubSource, directory: Path, scratch: Path) -> dict[str, Origin]:
    """Download the published files into `directory` and say where each comes from.

    Args:
        scratch: downloads lie here, finished or not, until all are complete.

    Raises:
        ValueError: a download fails, is incomplete or has the wrong content; names the address.
    """
    fetched = download_dataset(source.sudoku_9x9, FOLDER_EXTREME, source.hugging_face, scratch)
    fetched |= _download_file(source.sudoku_4x4, source.github_files, scratch)
    origins = _download_folder(source.sudoku_25x25, source.github_archives, directory, scratch)
    return origins | move_fetched(fetched, directory)


# Name in the raw directory: the file in the scratch directory, and where it comes from.
Fetched = dict[str, tuple[Path, Origin]]


def download_dataset(files: HuggingFaceFiles, folder: str, endpoint: str, scratch: Path) -> Fetched:
    """Download the files of a data set, to be named below `folder`."""
    fetched = {}
    for file_name, sha256 in files.sha256.items():
        url = hf_hub_url(
            files.repository, file_name, repo_type="dataset", revision=files.revision, endpoint=endpoint
        )
        path = download(url, sha256=sha256, scratch=scratch)
        fetched[f"{folder}/{file_name}"] = (path, Origin(url, files.revision))
    return fetched


def move_fetched(fetched: Fetched, directory: Path) -> dict[str, Origin]:
    """Move downloads to their names in `directory` and say where each comes from."""
    for name, (path, _) in fetched.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, directory / name)
    return {name: origin for name, (_, origin) in fetched.items()}


def _download_file(file: GitHubFile, base: str, scratch: Path) -> Fetched:
    url = f"{base}/{file.repository}/{file.revision}/{file.path}"
    return {FILE_4X4: (download(url, sha256=file.sha256, scratch=scratch), Origin(url, file.revision))}


def _download_folder(folder: GitHubFolder, base: str, directory: Path, scratch: Path) -> dict[str, Origin]:
    url = f"{base}/{folder.repository}/tar.gz/{folder.revision}"
    # GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    archive = download(url, sha256=None, scratch=scratch)
    try:
        names = _extract(archive, folder.path, directory / FOLDER_25X25)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"{url}: not a readable tar.gz archive: {error}") from error
    finally:
        archive.unlink()
    if len(names) != folder.num_files:
        raise ValueError(f"{url}: {len(names)} .json files in {folder.path}, expected {folder.num_files}")
    return {f"{FOLDER_25X25}/{name}": Origin(url, folder.revision) for name in names}


def _extract(archive: Path, path: str, target: Path) -> list[str]:
    """Write the .json files directly below the archive's folder `path` to `target`; returns their names.

    GitHub puts everything below one top folder, `<name>-<commit>`, hence the first part of a name is skipped.
    """
    target.mkdir(parents=True)
    names = []
    with tarfile.open(archive, mode="r:gz") as tar:
        for member in tar:
            folder, _, name = member.name.rpartition("/")
            if folder.partition("/")[2] != path or not name.endswith(".json"):
                continue
            content = tar.extractfile(member)
            if content is not None:
                (target / name).write_bytes(content.read())
                names.append(name)
    return names
