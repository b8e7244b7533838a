#!/usr/bin/env bash
# Installs the engines that optional tests run against, where the machine has the means; without them those tests are
# skipped. Nothing is installed twice, and no failure here is a failure of the project.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 0
engines=.cache/engines
mkdir -p "$engines"

# moto: an S3 server, from PyPI.
if [ ! -x "$engines/moto/bin/moto_server" ] && command -v python3 >/dev/null 2>&1; then
  if timeout 60 python3 -m venv "$engines/moto" >/dev/null 2>&1 &&
    timeout 240 "$engines/moto/bin/pip" install --quiet --disable-pip-version-check 'moto[server]==5.2.5' >/dev/null 2>&1; then
    echo "engines: moto installed"
  else
    rm -rf "$engines/moto"
    echo "engines: moto cannot be had here; the tests of S3 stores are skipped"
  fi
fi
exit 0
