// The files that recorded command lines work on: small, and of every format; the same at each run.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, Complex, float, io, lazyStack, ones, TensorDict, tensor, zeros } from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";

const weights = () => ({
  "head.weight": arange(4).to("float32").view(2, 2),
  "head.bias": zeros([2]),
  "body.w": ones(3),
});

function checkpoint(lr: number): unknown {
  return {
    model: new Map(Object.entries(weights())),
    optimizer: {
      state: new Map([
        [0, { exp_avg: ones(2) }],
        [1, { exp_avg: zeros([2]) }],
      ]),
      param_groups: [{ lr, params: [0, 1] }],
    },
    pair: Object.freeze([ones(1), zeros([1])]),
    epoch: 3,
  };
}

function arrays(at: (name: string) => string): void {
  io.saveNpy(at("a.npy"), arange(3).to("float64"));
  io.saveNpy(at("b.npy"), arange(3).to("float64").add(1));
  io.saveNpy(at("ints.npy"), tensor([1n, -2n, 300n]));
  io.saveNpy(at("zero.npy"), tensor([0, 1]));
  io.saveNpy(at("minus.npy"), tensor([-0, 1]));
  io.saveNpz(at("slashes.npz"), { "model/head/kernel": ones(3), "model/head/bias": zeros([2]), "model/body": ones(1) });
  io.saveNpz(at("dots.npz"), { "l.b": ones(2), "l.b.scale": zeros([2]), "l.w": arange(6).view(3, 2) });
  const nan = Number.NaN;
  io.saveNpz(at("odd.npz"), {
    floats: tensor([1, nan, Number.POSITIVE_INFINITY, -0, 2.5]),
    longs: tensor([-(2n ** 63n), 2n ** 63n - 1n, 0n]),
    bools: tensor([true, false, true]),
    complex: tensor([new Complex(1, 2), new Complex(3, -2)]),
    one: tensor([7]),
    none: zeros([0, 3]),
  });
}

function models(at: (name: string) => string): void {
  saveTorch(checkpoint(0.1), at("ck.pt"));
  saveTorch(checkpoint(0.2), at("other.pt"));
  saveTorch({ w: arange(3).to("float32"), nested: { x: float(2) } }, at("small.pt"));
  saveTorch(ones(2), at("one.pt"));
  saveTorch([ones(2), zeros([1])], at("list.pt"));
  saveSafetensors(weights(), at("model.safetensors"), { metadata: { format: "pt" } });
  saveSafetensors({ ...weights(), "body.w": ones(3).add(0.001), extra: ones(1) }, at("tuned.safetensors"));
  saveSafetensors({ w: ones(2).to("bfloat16"), big: tensor([1, 1e6]) }, at("half.safetensors"));
}

function collections(at: (name: string) => string): void {
  const batched = () => new TensorDict({ obs: arange(6).view(3, 2), n: { b: arange(3) } }, [3]);
  batched().memmap(at("td"));
  batched().memmap(at("td.tdz"), { archive: true } as never);
  batched().consolidate({ filename: at("td.consolidated") } as never);
  const state = { w: ones(2), step: 4 };
  io.Snapshot.take({ path: at("s.snapshot"), appState: { state: new io.StateDict(state) } });
  lazyStack([1, 2].map((n) => new TensorDict({ a: ones(n) })) as never).memmap(at("ragged"));
}

function folders(at: (name: string) => string): void {
  mkdirSync(at("folder/inner"), { recursive: true });
  io.saveNpy(at("folder/layer.0.weight.npy"), ones(2, 2));
  io.saveNpy(at("folder/layer.0.bias.npy"), zeros([2]));
  saveTorch(checkpoint(0.1), at("folder/inner/ck.pt"));
  saveSafetensors({ w: ones(2) }, at("folder/model.safetensors"), { metadata: { format: "pt" } });
  mkdirSync(at("clash"));
  io.saveNpy(at("clash/x.npy"), ones(1));
  saveSafetensors({ w: ones(2) }, at("clash/x.safetensors"));
  mkdirSync(at("mixed"));
  io.saveNpy(at("mixed/x.npy"), ones(1));
  writeFileSync(at("mixed/notes.txt"), "x");
  mkdirSync(at("plain"));
  writeFileSync(at("plain/notes.txt"), "x");
  mkdirSync(at("linked"));
  symlinkSync("../folder", at("linked/out"));
  symlinkSync(".", at("linked/here"));
  io.saveNpy(at("linked/x.npy"), ones(1));
}

function damaged(at: (name: string) => string): void {
  for (const [from, to, bytes] of [
    ["ck.pt", "bad.pt", 300],
    ["odd.npz", "bad.npz", 200],
    ["a.npy", "bad.npy", 90],
    ["model.safetensors", "bad.safetensors", 60],
  ] as const) {
    writeFileSync(at(to), readFileSync(at(from)).subarray(0, bytes));
  }
  writeFileSync(at("junk"), "nothing that is known");
}

function maps(at: (name: string) => string): void {
  writeFileSync(at("names.json"), JSON.stringify({ "model.head": "classifier", epoch: "step" }));
  writeFileSync(at("swap.json"), JSON.stringify({ "head.weight": "body.w", "body.w": "head.weight" }));
  writeFileSync(at("wrong.json"), JSON.stringify({ "model.haed": "classifier" }));
}

/** Makes all files in a folder. */
export function makeFiles(folder: string): void {
  const at = (name: string) => join(folder, name);
  for (const make of [arrays, models, collections, folders, damaged, maps]) make(at);
  if (hdf5Engine() !== null) new TensorDict({ x: arange(4), g: { y: ones(2) } }).toH5(at("h.h5")).close();
  if (process.platform === "linux") {
    // A name of bytes that are no UTF-8: Latin-1's "é".
    writeFileSync(Buffer.from(`${at("caf")}\xe9.npy`, "latin1"), readFileSync(at("a.npy")));
    mkdirSync(Buffer.from(`${at("dir")}\xff`, "latin1"));
  }
}
