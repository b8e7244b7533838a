// What the tests of this room share: directories, the files that Python wrote, and comparisons.
import "../../src/install.ts";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { native } from "../../src/ffi/library.ts";
import { peek } from "../../src/ffi/memory.ts";
import { encodeKey } from "../../src/io/base/keys.ts";
import { parsePythonJsonObject } from "../../src/io/base/python-json.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { pythonRepr } from "../../src/tensordict/core/python-repr.ts";
import { isBranch, isNested, type Td } from "../../src/tensordict/core/state.ts";
import type { Entry } from "../../src/tensordict/core/types.ts";
import examples from "../fixtures/tensordict/examples.json" with { type: "json" };

/** Content of an example, as Python described it. */
export type Expected =
  | { kind: "tensor"; dtype: string; shape: number[]; hex?: string; sha256?: string }
  | {
      kind: string;
      batch_size: number[];
      device: string;
      names?: (string | null)[] | string;
      data?: string;
      items?: Expected[];
      stack_dim?: number;
      entries?: Record<string, Expected>;
    };

/** One example: its files and its content. */
export interface Example {
  files: Record<string, string>;
  expect: Expected;
  pythonError?: string;
}

export const EXAMPLES = examples as unknown as Record<string, Example>;

/** A directory for one test file; call `remove` at the end. */
export function temporaryDirectory(): { path: string; fresh(): string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "zensor-td-"));
  let count = 0;
  /** A folder in it with nothing in it. */
  const fresh = () => {
    const folder = join(path, String(count++));
    mkdirSync(folder);
    return folder;
  };
  return { path, fresh, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Writes the files of an example below `root`. */
export function unpack(name: string, root: string): string {
  const target = join(root, name);
  for (const [file, base64] of Object.entries((EXAMPLES[name] as Example).files)) {
    const path = file === "" ? target : join(target, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(base64, "base64"));
  }
  return target;
}

/** All files below a directory, by relative path. */
export function filesBelow(root: string): Map<string, Buffer> {
  const found = new Map<string, Buffer>();
  const visit = (path: string) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const full = join(path, entry.name);
      if (entry.isDirectory()) visit(full);
      else found.set(relative(root, full), readFileSync(full));
    }
  };
  visit(root);
  return found;
}

/** Hexadecimal bytes of a tensor. */
function hexOf(t: Tensor): string {
  const { address, nbytes, keep } = nativeBytes(t);
  let text = "";
  for (let i = 0; i < nbytes; i++) text += peek.u8(address, i).toString(16).padStart(2, "0");
  return keep === undefined ? "" : text;
}

/** What a collection holds, in the form of `Expected`. */
export function describeEntry(entry: Entry): unknown {
  if (entry instanceof Tensor) {
    const hex = hexOf(entry);
    const base = { kind: "tensor", dtype: String(entry.dtype), shape: [...entry.shape] };
    return hex.length <= 128
      ? { ...base, hex }
      : { ...base, sha256: new Bun.CryptoHasher("sha256").update(Buffer.from(hex, "hex")).digest("hex") };
  }
  if (isNested(entry)) {
    const parts = entry.unbind().map(describeEntry);
    return { kind: "nested", layout: "torch.strided", dtype: String(entry.dtype), parts };
  }
  const base = {
    kind: entry._className,
    batch_size: [...entry.batchSize],
    device: entry.device === null ? "None" : String(entry.device),
  };
  if (entry._kind === "nonTensor") return { ...base, data: pythonRepr((entry as unknown as { data: unknown }).data) };
  if (entry._kind === "nonTensorStack")
    return { ...base, data: pythonRepr((entry as unknown as { tolist(): unknown }).tolist()) };
  if (entry._kind === "lazy") {
    const lazy = entry as unknown as { members: Td[]; stackDim: number };
    return { ...base, names: entry.names, stack_dim: lazy.stackDim, items: lazy.members.map(describeEntry) };
  }
  const entries: Record<string, unknown> = {};
  for (const key of entry._keys()) entries[key] = describeEntry(entry._own(key) as Tensor);
  return { ...base, names: entry.names, entries };
}

/** The same description from Python's, without what only Python has. */
export function normalizeExpected(expected: Expected): unknown {
  if (expected.kind === "nested") return expected;
  if (expected.kind === "tensor") {
    const { nbytes: _, ...rest } = expected as { nbytes?: number };
    return rest;
  }
  const value = expected as Exclude<Expected, { kind: "tensor" }>;
  const base = { kind: value.kind, batch_size: value.batch_size, device: value.device };
  if (value.data !== undefined) return { ...base, data: value.data };
  const names = Array.isArray(value.names) ? value.names : value.batch_size.map(() => null);
  if (value.items !== undefined)
    return { ...base, names, stack_dim: value.stack_dim, items: value.items.map(normalizeExpected) };
  const entries: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value.entries ?? {})) entries[key] = normalizeExpected(entry);
  return { ...base, names, entries };
}

/** Puts entries into the order in which the files name them: loading lists tensors before directories. */
export function inFileOrder(td: Td, path: string): void {
  if (td._kind === "nonTensor" || td._kind === "nonTensorStack") return;
  if (td._kind === "lazy") {
    for (const [i, member] of (td as unknown as { members: Td[] }).members.entries())
      inFileOrder(member, join(path, String(i)));
    return;
  }
  const level = td._kind === "tensorclass" ? join(path, "_tensordict") : path;
  const meta = parsePythonJsonObject(readFileSync(join(level, "meta.json")));
  for (const key of meta.keys()) {
    const entry = td._own(key);
    if (entry === undefined) continue;
    td._drop(key);
    td._put(key, entry);
    if (isBranch(entry)) inFileOrder(entry as Td, join(level, encodeKey(key)));
  }
}

/**
 * By how many bytes the memory of the process grows when `run` has run: the least of a few times, since the collector,
 * the compiler and other tests add to it now and then, and a leak every time.
 */
export function leastGrowth(run: () => void, times = 3): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times; i++) {
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    run();
    Bun.gc(true);
    least = Math.min(least, process.memoryUsage.rss() - before);
  }
  return least;
}

/**
 * How much more native memory and how many more mappings `rounds` leave than the time before: the least of four times.
 * What is lost is lost each time; what the collector takes for used on the stack is there or not.
 */
export async function nativeGrowth(rounds: () => Promise<unknown>): Promise<{ bytes: number; maps: number }> {
  const use = async () => {
    await rounds();
    for (let i = 0; i < 4; i++) {
      Bun.gc(true);
      await Bun.sleep(5);
    }
    return [native.zs_live_bytes(), native.zs_io_live_maps()] as const;
  };
  let [before, least] = [await use(), { bytes: Infinity, maps: Infinity }];
  for (let i = 0; i < 4 && least.bytes + least.maps > 0; i++) {
    const after = await use();
    const [bytes, maps] = [Math.max(0, after[0] - before[0]), Math.max(0, after[1] - before[1])];
    if (bytes + maps < least.bytes + least.maps) least = { bytes, maps };
    before = after;
  }
  return least;
}
