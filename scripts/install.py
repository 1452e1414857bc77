"""Install serrm, editable, with extras into this environment: python scripts/install.py EXTRA...

The versions are those of constraints.txt. uv takes seconds where pip takes half a minute or more. It does not read the
settings of pip, so those that say where packages come from are passed on. Where uv is missing or fails, pip installs.
"""

import ast
import os
import subprocess
import sys

PIP = [sys.executable, "-m", "pip"]
INSTALL = [*PIP, "install", "--quiet", "--no-compile", "--constraint", "constraints.txt"]
UV = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
# Sections of pip's settings that concern `pip install`; of one setting, that of a later section holds.
SECTIONS = ("global", "install", ":env:")
# uv's options by pip's settings, each of which may have several values.
OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "constraint": "--constraint",
    "trusted-host": "--allow-insecure-host",
}


def main(extras: list[str]) -> int:
    """Install with uv or else with pip; the exit code of the last command."""
    target = ["--editable", f".[{','.join(extras)}]"]
    listing = subprocess.run([*PIP, "config", "list"], stdout=subprocess.PIPE, text=True, check=False).stdout
    options, variables = for_uv(listing)
    uv_command = [*UV, *options, "--constraint", "constraints.txt", *target]
    if succeeds([*INSTALL, "uv"]) and succeeds(uv_command, **variables):
        return 0
    sys.stderr.write("uv could not install (see above); pip goes on, which takes longer\n")
    succeeds([*INSTALL, "--upgrade", "pip"])  # that of Python 3.11 takes twice as long as a new one
    return 0 if succeeds([*INSTALL, *target]) else 1


def succeeds(command: list[str], **variables: str) -> bool:
    """Run a command; True if its exit code is 0."""
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode == 0


def for_uv(listing: str) -> tuple[list[str], dict[str, str]]:
    """Translate the settings that `pip config list` has printed to uv's options and environment variables."""
    sections: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in sections:
            sections[section][name] = ast.literal_eval(value)
    settings = {name: value for section in SECTIONS for name, value in sections[section].items()}
    # All indexes together offer their newest release, as for pip.
    options = ["--index-strategy", "unsafe-best-match"]
    for name, option in OPTIONS.items():
        for value in settings.get(name, "").split():
            options += [option, value]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    return options, {"SSL_CERT_FILE": settings["cert"]} if "cert" in settings else {}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
