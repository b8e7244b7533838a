// What the tables of readers share: their form, files to damage, and how all of what was read is looked at.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DType } from "../../src/tensor/dtype.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor } from "../../src/tensordict/core/tensor-ops.ts";
import { isTensorCollection, lazyStack, TensorDict } from "../../src/tensordict/index.ts";
import type { Choices } from "./choices.ts";
import type { Container, Files } from "./damage.ts";

/** A kind of file and how it is read. */
export interface Reader {
  name: string;
  /** The file's name; null for directories. */
  file: string | null;
  container: Container;
  /** How many cases take a few seconds. */
  cases: number;
  /** Good files; `room` is an empty folder to write in. */
  seeds(room: string): Files[];
  read(path: string, choices: Choices): unknown;
  /** What is said of good files that are refused as they are. */
  unreadable?: RegExp;
}

export function one(name: string, bytes: Uint8Array): Files {
  return new Map([[name, bytes]]);
}

/** The files below a folder; links are left out. */
export function filesBelow(root: string, prefix = "", found: Files = new Map()): Files {
  for (const name of readdirSync(root).sort()) {
    const path = join(root, name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) filesBelow(path, `${prefix}${name}/`, found);
    else if (stat.isFile()) found.set(prefix + name, readFileSync(path));
  }
  return found;
}

/** A file that `write` makes. */
export function written(room: string, name: string, write: (path: string) => void): Files {
  const path = join(room, name);
  write(path);
  return one(name, readFileSync(path));
}

export function numbers(count: number, dtype: string): Tensor {
  return tensor(Array.from({ length: count }, (_, i) => i)).to(dtype as "uint8");
}

/** A collection of what collections hold. */
export function collection(): Td {
  const inner = () => new TensorDict({ x: numbers(6, "float32").view(2, 3), text: "words" }, [2]) as unknown as Td;
  return new TensorDict(
    { a: numbers(4, "int64").view(2, 2), b: { c: numbers(2, "bfloat16") }, stack: lazyStack([inner(), inner()], 0) },
    { batchSize: [2], names: ["time"] },
  ) as unknown as Td;
}

/** Elements that are read one by one; of larger tensors the first and the last are. */
const MANY = 1_000_000;

function readTensor(value: Tensor): number {
  if (value.numel() > MANY) {
    const ends = value.shape.map((n) => n - 1);
    return (
      value
        .at(...ends.map(() => 0))
        .clone()
        .numel() +
      value
        .at(...ends)
        .clone()
        .numel()
    );
  }
  if (value.numel() <= 1000) String(value);
  if (value.isMeta || value.numel() === 0) return 0;
  let sum = 0;
  for (const byte of new Uint8Array(value.contiguous().clone()._storage.buffer())) sum += byte;
  return sum;
}

/** Reads all that a reader gave: every tensor's elements, and the text of every collection. Says how many things. */
export function readAll(root: unknown): number {
  const seen = new Set<unknown>();
  const open: unknown[] = [root];
  let count = 0;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    count++;
    if (value instanceof Tensor) readTensor(value);
    else if (isTensorCollection(value)) {
      String(value);
      // The members of a stack may have shapes of their own: then it has no dense tensor to give.
      if ((value as Td)._kind === "lazy") open.push(...(value as unknown as { members: Td[] }).members);
      else open.push(...(value as Td).values());
    } else if (value instanceof Map) open.push(...value.keys(), ...value.values());
    else if (value instanceof Set || Array.isArray(value)) open.push(...value);
    else if (!ArrayBuffer.isView(value) && !(value instanceof DType)) open.push(...Object.values(value));
  }
  return count;
}
