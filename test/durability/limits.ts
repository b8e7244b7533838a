// Mappings on full disks, additions to what is saved, limits of the process, and saving without end.
import { closeSync, existsSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { mapFile } from "../../src/io/disk/mapping.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { loadNpz } from "../../src/io/numpy/npz-load.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { appendMemmap, fromConsolidated, MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import {
  checkError,
  Findings,
  failureOf,
  fill,
  forEach,
  freeBlocks,
  hasFree,
  LARGE,
  type Problems,
  SMALL,
  TREE,
} from "./checks.ts";
import { collection, contentOf, full, leaves, type Version, valueIn, WRITERS } from "./writers.ts";

/** Sparse files on a full disk, written to through their mappings. */
export async function mappedWrites(root: string): Promise<Problems> {
  const problems: Problems = {};
  const count = 2 ** 15;
  const elsewhere = process.env.ZENSOR_DURABILITY_SPARE as string;
  const ones = zeros([count]).add_(1);
  const snapshot = join(elsewhere, "snapshot");
  Snapshot.take({ path: snapshot, appState: { state: new StateDict({ t: ones }) } });
  const uses: [string, (t: MemoryMappedTensor) => unknown][] = [
    ["fill_", (t) => t.fill_(1)],
    ["copy_", (t) => t.copy_(ones)],
    ["add_", (t) => t.add_(1)],
    ["an element", (t) => t.setAt(count - 1, 1)],
    [
      "a view",
      (t) =>
        t
          .view(8, -1)
          .at(3)
          .copy_(zeros([count / 8]).add_(1)),
    ],
    ["an index", (t) => t.setAt([":"] as never, 1)],
    ["typed array", (t) => [(t.typedArray() as unknown as Float32Array).fill(1), t.sum()]],
    ["one of a typed array", (t) => [(t.typedArray() as unknown as Float32Array).fill(1, -1), zeros([1]).add_(1)]],
    ["out", (t) => ones.add(1, { out: t } as never)],
    ["reading", (t) => t.sum().item()],
    ["saving", (t) => new TensorDict({ t }).memmap(join(elsewhere, "copy"), { copyExisting: true })],
    ["reading a snapshot into it", (t) => new Snapshot(snapshot).readObject("0/state/t", { into: t })],
    [
      "with WebAssembly",
      (t) => {
        // The runtime has a handler of its own for the memory of WebAssembly.
        const bytes = Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 109, 2, 0]);
        const { m } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as { m: WebAssembly.Memory };
        new Uint8Array(m.buffer).fill(1);
        t.fill_(1);
      },
    ],
    ["saving as .tdz", (t) => new TensorDict({ t }).memmap(join(elsewhere, "copy.tdz"))],
  ];
  const empty = statfsSync(root).bfree;
  for (const [name, use] of uses) {
    const findings = new Findings();
    findings.check(await hasFree(root, empty), "the space of removed files is lost");
    const path = join(root, "sparse");
    const t = MemoryMappedTensor.empty([count], { filename: path });
    const filler = fill(root);
    for (const again of ["", " again"]) {
      const error = (await failureOf(() => use(t))) as (Error & { code?: string }) | null;
      const text = `${error?.name} ${error?.code}: ${error?.message}`;
      findings.check(error?.code === "ENOSPC" && text.includes(path), `${name}${again}: ${text}`);
    }
    findings.check(!existsSync(join(elsewhere, "copy")) && !existsSync(join(elsewhere, "copy.tdz")), "a copy was made");
    rmSync(filler);
    // With room the same works, and the file has it.
    t.fill_(7);
    const held = MemoryMappedTensor.fromFilename(path, { shape: [count] });
    findings.check(held.eq(7).all().item() === true, "what was written later did not reach the file");
    rmSync(path);
    problems[name] = findings.list;
  }
  return problems;
}

/** Tensors that are added to a saved collection, when there is no room for them. */
export async function additions(root: string): Promise<Problems> {
  const problems: Problems = {};
  const large = zeros([LARGE]).add_(2);
  const old: Version = { value: 1, count: SMALL };
  const uses: [string, (td: Td, path: string) => unknown][] = [
    ["makeMemmapFromTensor", (td) => td.makeMemmapFromTensor("c", large)],
    ["makeMemmapFromStorage", (td) => td.makeMemmapFromStorage("c", large.untypedStorage(), [LARGE])],
    ["fromTensor", (_, path) => MemoryMappedTensor.fromTensor(large, { filename: join(path, "c.memmap") })],
    ["full", (_, path) => MemoryMappedTensor.full([LARGE], 2, { filename: join(path, "c.memmap") })],
  ];
  for (const [name, use] of uses) {
    const findings = new Findings();
    const path = join(root, "saved");
    const td = new TensorDict({ a: zeros([old.count]).add_(1) }).memmap(path) as unknown as Td;
    const before = contentOf(path);
    const free = await freeBlocks(root);
    const error = (await failureOf(() => use(td, path))) as (Error & { code?: string }) | null;
    const text = `${error?.name} ${error?.code}: ${error?.message}`;
    findings.check(error?.code === "ENOSPC" && text.includes(path), text);
    findings.check(Bun.deepEquals(contentOf(path), before), "files changed");
    findings.check(await hasFree(root, free), "space is lost");
    findings.check([...td.keys()].join() === "a", `its keys are ${[...td.keys()]}`);
    td.makeMemmapFromTensor("c", zeros([SMALL]).add_(1));
    const leaves = ["a", "c"].map((key) => TensorDict.loadMemmap(path).get(key) as MemoryMappedTensor);
    findings.check(valueIn(leaves) === 1, "the collection is damaged");
    rmSync(path, { recursive: true });
    problems[name] = findings.list;
  }
  return problems;
}

/** Rows that do not fit any more, and metadata that does not when the rows did. */
export async function appends(root: string): Promise<Problems> {
  const findings = new Findings();
  const path = join(root, "saved");
  rowsOf(SMALL).memmap(path);
  const before = contentOf(path);
  const refused = async (what: string, count: number) => {
    checkError(findings, await failureOf(() => appendMemmap(path, rowsOf(count))), ["ENOSPC"], path);
    findings.check(Bun.deepEquals(contentOf(path), before), `${what}: files changed`);
  };
  await refused("rows", LARGE);
  // One row more fits into the files' last pages.
  const filler = fill(root);
  await refused("metadata", 1);
  rmSync(filler);
  appendMemmap(path, rowsOf(5));
  const loaded = TensorDict.loadMemmap(path);
  findings.check(
    loaded.batchSize[0] === SMALL + 5 && valueIn(leaves(loaded)) === 1,
    "appending does not work any more",
  );
  return { appendMemmap: findings.list };
}

/** More tensors than there may be open files, and then not one open file more. */
export async function descriptors(root: string): Promise<Problems> {
  const problems: Problems = {};
  const count = 1000;
  const names = Array.from({ length: count }, (_, i) => `k${i}`);
  const make = () => Object.fromEntries(names.map((name) => [name, full({ value: 1, count: 3 })]));
  const td = new TensorDict(make()) as unknown as Td;
  for (const numThreads of [1, 2]) {
    const ways: [string, (path: string) => unknown, (path: string) => object][] = [
      ["memmap", (path) => td.memmap(path, { numThreads }), (path) => TensorDict.loadMemmap(path, { numThreads })],
      [
        "atomic",
        (path) => td.memmapAsync(path, { numThreads, atomic: true }),
        (path) => TensorDict.loadMemmap(path, { numThreads }),
      ],
      ["archive", (path) => td.memmap(`${path}.tdz`, { numThreads }), (path) => TensorDict.loadMemmap(`${path}.tdz`)],
      ["consolidate", (path) => td.consolidate({ filename: path, numThreads }), fromConsolidated],
      ["shared memory", () => td.memmap(), () => td.memmap()],
      ["npz", (path) => saveNpz(`${path}.npz`, make(), { numThreads }), (path) => loadNpz(`${path}.npz`)],
    ];
    for (const [name, write, read] of ways) {
      const findings = new Findings();
      const path = join(root, `many-${numThreads}-${name}`);
      try {
        await write(path);
        const held = read(path) as Td;
        const tensors = names.map((key) => (held instanceof TensorDict ? held.get(key) : held[key as never]) as Tensor);
        findings.check(valueIn(tensors) === 1, "something else was loaded");
      } catch (error) {
        findings.check(false, (error as Error).stack ?? String(error));
      }
      problems[`${name} of ${count} with ${numThreads} threads`] = findings.list;
    }
  }
  const exhausted = await forEach(root, async (writer, directory, findings) => {
    const path = join(directory, writer.target);
    await writer.write(path, { value: 1, count: SMALL });
    const before = contentOf(directory);
    const other = writer.replaces === false ? `${path}-2` : path;
    const held: number[] = [];
    const failed = await failureOf(() => {
      for (;;) held.push(openSync("/dev/null", "r"));
    });
    const late = await failureOf(() => writer.write(other, { value: 2, count: SMALL }));
    const unread = await failureOf(() => writer.read(path));
    for (const fd of held) closeSync(fd);
    findings.check((failed as { code?: string }).code === "EMFILE", `opening: ${failed}`);
    // The plans of a conversion are read from another place.
    checkError(findings, late, ["EMFILE"], writer.name.startsWith("convert") ? "" : directory);
    checkError(findings, unread, ["EMFILE"], directory);
    const after = contentOf(directory);
    findings.check(Bun.deepEquals(after, before), `changed: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`);
    findings.check(valueIn(writer.read(path)) === 1, "the old content is lost");
  });
  return { ...problems, ...exhausted };
}

/** As many mappings as the system gives, all in use; then some of them are not. */
export async function mappings(root: string): Promise<Problems> {
  const findings = new Findings();
  const path = join(root, "mapped");
  writeFileSync(path, new Uint8Array(4096).fill(1));
  const directory = join(root, "saved");
  const td = collection({ value: 1, count: SMALL });
  td.memmap(directory);
  const held: unknown[] = [];
  const made = join(root, "made");
  const uses: [string, () => unknown, string][] = [
    ["loadMemmap", () => TensorDict.loadMemmap(directory), directory],
    ["memmap", () => td.memmap(directory), directory],
    ["ones", () => MemoryMappedTensor.ones([9], { filename: made }), made],
    ["shared memory", () => td.memmap(), "memory"],
  ];
  for (const [what, use, name] of uses) {
    const out = await failureOf(() => {
      for (;;) held.push(mapFile(path, "c"));
    });
    findings.check(held.length > 10_000, `only ${held.length} mappings`);
    checkError(findings, out, ["ENOMEM"], path);
    const error = await failureOf(use);
    findings.check(error !== null, `${what} does not fail`);
    if (error !== null) checkError(findings, error, ["ENOMEM"], name);
  }
  findings.check(!existsSync(made), "a file was made");
  // The runtime itself goes on.
  findings.check(JSON.stringify(Array.from({ length: 1e6 }, (_, i) => ({ i }))).length > 1e6, "no memory");
  // What nobody uses any more is found without being asked for.
  held.length = 0;
  await Bun.sleep(1);
  findings.check(valueIn(leaves(TensorDict.loadMemmap(directory))) === 1, "no mapping can be had afterwards");
  return { mappings: findings.list };
}

/** Entries of an open HDF5 file. */
export async function hdf5Entries(root: string): Promise<Problems> {
  if (hdf5Engine() === null) return {};
  const findings = new Findings();
  const path = join(root, "file.h5");
  const held = collection({ value: 1, count: SMALL }).toH5(path);
  const error = await failureOf(() => held.set("c", full({ value: 2, count: LARGE })));
  checkError(findings, error, ["ENOSPC"], path);
  const late = await failureOf(() => held.set("a", full({ value: 2, count: LARGE })));
  checkError(findings, late, ["ENOSPC"], path);
  const old = () => valueIn([held.get("a") as Tensor, held.get(["n", "b"]) as Tensor]);
  findings.check(old() === 1, "the old content is lost");
  const closing = await failureOf(() => held.close());
  findings.check(closing === null, `close: ${closing}`);
  using again = TensorDict.fromH5(path);
  findings.check([...again.keys()].sort().join() === "a,n,s", `keys: ${[...again.keys()]}`);
  findings.check(valueIn([again.get("a") as Tensor, again.get(["n", "b"]) as Tensor]) === 1, "the file is damaged");
  return { "PersistentTensorDict.set": findings.list };
}

/** Elements of each tensor while saves are killed. */
const KILLED = 20_000;

/** A collection of so many rows that all hold 1. */
export function rowsOf(count: number): Td {
  const inner = new TensorDict({ b: full({ value: 1, count }) }, [count]);
  return new TensorDict({ a: full({ value: 1, count }), n: inner }, [count]) as unknown as Td;
}

/** Writes one version after the other, each with all writers, until the process is killed. */
export async function endless(root: string): Promise<Problems> {
  const rows = join(root, "rows");
  if (!existsSync(rows)) rowsOf(1).memmap(rows);
  writeSync(1, "ready\n");
  for (let value = Number(process.env.ZENSOR_DURABILITY_FIRST); ; value++) {
    for (const writer of WRITERS.filter(({ whole, oneByOne }) => whole && !oneByOne)) {
      const path = join(root, writer.replaces === false ? `${writer.target}-${value}` : writer.target);
      await writer.write(path, { value, count: KILLED, fsync: value % 2 === 1 });
      if (writer.replaces === false) rmSync(`${path.slice(0, -String(value).length)}${value - 2}`, TREE);
    }
    appendMemmap(rows, rowsOf(1 + (value % 3)));
  }
}
