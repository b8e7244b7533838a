"""Writes test/fixtures/hdf5/h5py.h5: the types, layouts and links that h5py makes and tensordict does not; and links/

    python make_hdf5_fixture.py

Needs numpy and h5py. The files beside it were written by tensordict's to_h5.
"""
import gzip
import os
import tempfile

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(HERE, "..", "..", "test", "fixtures", "hdf5", "h5py.h5")

with h5py.File(PATH, "w") as f:
    ramp = np.arange(240)
    types = f.create_group("types")
    for name in "u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8 c8 c16".split():
        types[name] = ramp[:6].astype(name).reshape(2, 3)
    types["bool"] = ramp[:6] % 2 == 0
    types["big"] = ramp[:6].astype(">i4")
    types["bigfloat"] = ramp[:6].astype(">f8")
    f.create_dataset("gzip", data=ramp.reshape(20, 12).astype("f4"), chunks=(4, 5), compression="gzip", shuffle=True)
    f.create_dataset("grows", data=ramp[:10], maxshape=(None,), chunks=(4,))
    f.create_dataset("checked", data=ramp[:10], chunks=(5,), fletcher32=True)
    f.create_dataset("unwritten", shape=(3, 2), dtype="f4", fillvalue=1.5)
    f["scalar"] = 2.5
    f["empty"] = np.zeros((0, 4), "f4")
    f["text"] = "zwölf"
    f["texts"] = np.array([["a", "bc"], ["", "déf"]], dtype=h5py.string_dtype())
    f["fixed"] = np.array([b"one", b"three"], dtype="S5")
    f["kinds"] = np.array([0, 1, 1], dtype=h5py.enum_dtype({"CAT": 0, "DOG": 1}, basetype="i1"))
    f["record"] = np.array([(1, 2.0)], dtype=[("id", "i4"), ("weight", "f8")])
    f["null"] = h5py.Empty("f4")
    number = np.array(7)
    f["tagged"] = number.astype(h5py.opaque_dtype(number.dtype))
    words = np.array(["x", "yz"])
    f["tagged_words"] = words.astype(h5py.opaque_dtype(words.dtype))
    links = f.create_group("links")
    links["soft"] = h5py.SoftLink("/types/i4")
    links["relative"] = h5py.SoftLink("soft")
    links["dangling"] = h5py.SoftLink("/nowhere")
    links["outside"] = h5py.ExternalLink("plain.h5", "/a")
    links["through"] = h5py.SoftLink("/links/outside")
    links["circle"] = h5py.SoftLink("/links/circle")
    f["again"] = f["types"]
    loop = f.create_group("loop")
    loop["self"] = loop
    external = f.create_group("external")
    external.create_dataset("raw", shape=(2,), dtype="f4", external=[("plain.h5", 0, 8)])
    layout = h5py.VirtualLayout(shape=(2, 3), dtype="f4")
    layout[:] = h5py.VirtualSource("plain.h5", "a", shape=(2, 3))
    external.create_virtual_dataset("virtual", layout)
print(os.path.getsize(PATH))

# Several paths to one group: a few of them, as people have them, and more than can be followed.
LINKS = os.path.join(os.path.dirname(PATH), "links")
os.makedirs(LINKS, exist_ok=True)
with h5py.File(os.path.join(LINKS, "twice.h5"), "w") as f:
    group = f.create_group("a")
    group["x"] = np.arange(6).reshape(2, 3)
    group["text"] = "words"
    f["b"] = group
    f["c"] = h5py.SoftLink("/a")
    f["d"] = f["a/x"]
with h5py.File(os.path.join(LINKS, "diamond.h5"), "w", libver="latest") as f:
    f["x"] = np.arange(3)
    group = f
    for _ in range(40):
        below = group.create_group("l")
        group["r"] = below
        group = below
with h5py.File(os.path.join(LINKS, "around.h5"), "w", libver="latest") as f:
    f["x"] = np.arange(3)
    f.create_group("g")["up"] = f["/"]
with h5py.File(os.path.join(LINKS, "soft.h5"), "w", libver="latest") as f:
    f["x"] = np.arange(3)
    f["s0"] = f["s1"] = h5py.SoftLink("/")
# Without the newest layout of datasets, which older libraries refuse before they count.
with h5py.File(os.path.join(LINKS, "copies.h5"), "w", libver=("earliest", "v108")) as f:
    f.create_dataset("x", data=np.zeros(2**24, "u1"), chunks=(2**24,), compression="gzip", compression_opts=9)
    for i in range(400):
        f[f"x{i}"] = f["x"]
with tempfile.TemporaryDirectory() as room:
    many = os.path.join(room, "many.h5")
    with h5py.File(many, "w", libver="latest") as f:
        for i in range(8000):
            f[str(i)] = float(i)
    with open(many, "rb") as whole, gzip.GzipFile(os.path.join(LINKS, "many.h5.gz"), "wb", 9, mtime=0) as packed:
        packed.write(whole.read())
