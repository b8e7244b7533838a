#!/usr/bin/env bash
# Installs the engines that optional tests run against, where the machine has the means; without them those tests are
# skipped. Nothing is installed twice, and no failure here is a failure of the project.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 0
# ldconfig and what dpkg calls are not on every user's path.
export PATH="$PATH:/usr/sbin:/sbin"
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

# libhdf5, from the system's packages: its name has the version in it.
has_hdf5() {
  ldconfig -p 2>/dev/null | grep -q 'libhdf5\(_serial\)\?\.so'
}
if [ -z "${ZENSOR_HDF5:-}" ] && command -v apt-get >/dev/null 2>&1 && ! has_hdf5; then
  if [ "$(id -u)" -eq 0 ]; then
    apt-cache show libhdf5-103-1 >/dev/null 2>&1 || timeout 60 apt-get update -qq >/dev/null 2>&1
    for name in libhdf5-310 libhdf5-103-1t64 libhdf5-103-1 libhdf5-103; do
      DEBIAN_FRONTEND=noninteractive timeout 90 apt-get install -y -qq "$name" >/dev/null 2>&1 && break
    done
  fi
  if has_hdf5; then
    echo "engines: libhdf5 installed"
  else
    echo "engines: libhdf5 cannot be had here; the tests of HDF5 files are skipped"
  fi
fi

# h5wasm, from npm: HDF5 files without that library.
if [ ! -d "$engines/h5wasm/node_modules/h5wasm" ] && command -v npm >/dev/null 2>&1; then
  mkdir -p "$engines/h5wasm"
  echo '{ "private": true }' >"$engines/h5wasm/package.json"
  if timeout 60 npm install --prefix "$engines/h5wasm" --no-audit --no-fund h5wasm@0.10.3 >/dev/null 2>&1; then
    echo "engines: h5wasm installed"
  else
    rm -rf "$engines/h5wasm"
    echo "engines: h5wasm cannot be had here; its tests are skipped"
  fi
fi

# ptxas, NVIDIA's assembler of GPU code, from PyPI: one program of that wheel.
if [ ! -x "$engines/ptxas/ptxas" ] && [ -z "${ZENSOR_PTXAS:-}" ] && command -v python3 >/dev/null 2>&1; then
  mkdir -p "$engines/ptxas"
  if timeout 240 python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$engines/ptxas" nvidia-cuda-nvcc-cu12==12.9.86 >/dev/null 2>&1 &&
    python3 -c 'import glob, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
name = next(name for name in wheel.namelist() if name.endswith("/bin/ptxas"))
open(sys.argv[1] + "/ptxas", "wb").write(wheel.read(name))' "$engines/ptxas" 2>/dev/null &&
    chmod +x "$engines/ptxas/ptxas" && "$engines/ptxas/ptxas" --version >/dev/null 2>&1; then
    rm -f "$engines/ptxas"/*.whl
    echo "engines: ptxas installed"
  else
    rm -rf "$engines/ptxas"
    echo "engines: ptxas cannot be had here; GPU kernels are not assembled"
  fi
fi

# An emulator, C libraries and Bun of other platforms: scripts/foreign.ts fetches them once this folder exists.
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; then
  mkdir -p "$engines/foreign"
  apt-cache show qemu-user-static >/dev/null 2>&1 || timeout 60 apt-get update -qq >/dev/null 2>&1
fi
exit 0
