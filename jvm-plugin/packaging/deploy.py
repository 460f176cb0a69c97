"""Puts one release into a Maven repository that is a folder: deploy.py <file: URL> <POM> <jar>…

Each file gets its checksums and, with GLOWPLUG_SIGN_KEY (a gpg key id), its signature; a zip of the folder is what
Maven Central's portal takes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import xml.etree.ElementTree as xml
from pathlib import Path

POM = "{http://maven.apache.org/POM/4.0.0}"
CHECKSUMS = ("md5", "sha1", "sha256", "sha512")


def main(url: str, pom: Path, jars: list) -> None:
    repository = folder_of(url)
    project = xml.parse(pom).getroot()
    group, artifact, version = (project.findtext(POM + name) for name in ("groupId", "artifactId", "version"))
    home = repository.joinpath(*group.split("."), artifact)
    target = home / version
    target.mkdir(parents=True, exist_ok=True)
    for source, name in [(pom, f"{artifact}-{version}.pom"), *((jar, jar.name) for jar in jars)]:
        shutil.copyfile(source, target / name)
        add_checksums(target / name)
        if os.environ.get("GLOWPLUG_SIGN_KEY"):
            add_checksums(sign(target / name, os.environ["GLOWPLUG_SIGN_KEY"]))
    add_checksums(write_metadata(home, group, artifact, version))
    print(f"published {group}:{artifact}:{version} to {url}")


def folder_of(url: str) -> Path:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "file" or parts.netloc:
        sys.exit(f"repositoryUrl: {url!r} is not allowed, only file:/some/folder; nothing is published")
    return Path(urllib.parse.unquote(parts.path))


def sign(file: Path, key: str) -> Path:
    subprocess.run(["gpg", "--batch", "--yes", "--armor", "--local-user", key, "--detach-sign", file], check=True)
    return file.with_name(file.name + ".asc")


def write_metadata(home: Path, group: str, artifact: str, version: str) -> Path:
    versions = sorted({path.name for path in home.iterdir() if path.is_dir()},
                      key=lambda name: [(not part.isdigit(), int(part) if part.isdigit() else part) for part in name.split(".")])
    metadata = xml.Element("metadata")
    xml.SubElement(metadata, "groupId").text = group
    xml.SubElement(metadata, "artifactId").text = artifact
    versioning = xml.SubElement(metadata, "versioning")
    xml.SubElement(versioning, "latest").text = version
    xml.SubElement(versioning, "release").text = version
    listed = xml.SubElement(versioning, "versions")
    for name in versions:
        xml.SubElement(listed, "version").text = name
    xml.SubElement(versioning, "lastUpdated").text = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    file = home / "maven-metadata.xml"
    xml.indent(metadata)
    xml.ElementTree(metadata).write(file, encoding="UTF-8", xml_declaration=True)
    return file


def add_checksums(file: Path) -> None:
    for algorithm in CHECKSUMS:
        file.with_name(f"{file.name}.{algorithm}").write_text(hashlib.new(algorithm, file.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(jar) for jar in sys.argv[3:]])
