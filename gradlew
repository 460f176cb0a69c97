#!/bin/sh
# Glowplug's one command over both builds: ./gradlew demo | check | checkAll | :jvm-plugin:jar …
# Installs what the builds need and the machine lacks (through apt, and says so), then runs Gradle.
set -eu
cd "$(dirname "$0")"
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

main() {
    install_missing_packages
    install_missing_rust
    JAVA_HOME=$(find_java_home 17) || JAVA_HOME=$(default_java_home) || die "no JDK found: install JDK 17"
    export PATH JAVA_HOME
    # A daemon would keep the environment of whoever started it: Gradle 4.4 cannot change its own on JDK 17.
    exec gradle --no-daemon "$@"
}

install_missing_packages() {
    packages=
    has gradle || packages="$packages gradle"
    find_java_home 17 >/dev/null || default_java_home >/dev/null || packages="$packages $(jdk_package)"
    has cc || packages="$packages gcc libc6-dev"
    has git || packages="$packages git"
    has gpg || packages="$packages gnupg"
    has objdump || packages="$packages binutils"
    has npm || packages="$packages nodejs npm"
    python3 -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3 python3-venv"
    has cargo || [ -z "$(candidate rustup)" ] || packages="$packages rustup"
    [ -z "$packages" ] || apt_install $packages
}

install_missing_rust() {
    if ! has cargo && ! has rustup; then
        say "fetching the Rust toolchain by rustup (https://rustup.rs)"
        has curl || apt_install curl ca-certificates
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --no-modify-path --profile minimal \
            || die "rustup could not be fetched: install Rust (https://rustup.rs), then run this again"
    fi
    # A cargo that no rustup manages (a distribution's) is taken as it is.
    has rustup || return 0
    rustup show active-toolchain >/dev/null 2>&1 || {
        say "fetching the Rust toolchain that rust-toolchain.toml names"
        rustup toolchain install
    }
}

# The folder of the JDK (not JRE) of feature release $1.
find_java_home() {
    for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
        [ -x "$home/bin/javac" ] && [ "$(feature_release "$home")" = "$1" ] || continue
        echo "$home"
        return 0
    done
    return 1
}

feature_release() {
    sed -n 's/^JAVA_VERSION="\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' "$1/release" 2>/dev/null
}

default_java_home() {
    has javac || return 1
    javac=$(readlink -f "$(command -v javac)")
    dirname "$(dirname "$javac")"
}

jdk_package() {
    if [ -n "$(candidate openjdk-17-jdk-headless)" ]; then echo openjdk-17-jdk-headless; else echo default-jdk-headless; fi
}

candidate() {
    # A fresh container has no package lists yet, and then no package has a candidate.
    ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || as_root apt-get update -qq >&2
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([^(].*\)/\1/p'
}

apt_install() {
    has apt-get || die "missing: $*. Install them with this system's package manager, then run this again"
    say "installing by apt:" "$@"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

has() { command -v "$1" >/dev/null 2>&1; }
say() { echo "gradlew: $*" >&2; }
die() { say "$@"; exit 1; }

main "$@"
