// Objects of Python's classes drawn at random, with what is shared and what contains itself: read, written, read again.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, float, Tensor } from "../../src/index.ts";
import { FormatError } from "../../src/io/base/errors.ts";
import { noteByteArray, noteDeque, noteDict, noteFrozenSet } from "../../src/io/base/python-origin.ts";
import { PythonName, PythonObject } from "../../src/io/pickle/python-object.ts";
import { loadExactly, loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { readZip } from "../../src/io/zip/zip.ts";
import { Choices } from "../fuzz/choices.ts";
import { damagedPickle } from "../fuzz/pickle-damage.ts";
import { objectText } from "./object-text.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-random-objects-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
/** Seconds of each campaign; ZENSOR_ATTACK_SECONDS lets it go on for longer. */
const SECONDS = Number(process.env.ZENSOR_ATTACK_SECONDS ?? 3);

const NAMES = ["a.B", "torch.nn.modules.linear.Linear", "p.Outer.Inner", "__proto__.constructor", "x.é", "os.system"];

/** Draws values; what was drawn before may come again, also inside of itself. */
class Drawing {
  private readonly before: unknown[] = [];
  private left = 60;
  constructor(private readonly choices: Choices) {}

  private keep<T>(value: T): T {
    this.before.push(value);
    return value;
  }

  private some(depth: number): unknown[] {
    return Array.from({ length: this.choices.below(4) }, () => this.value(depth + 1));
  }

  private name(): PythonName {
    const full = this.choices.pick(NAMES);
    const dot = full.startsWith("p.") ? 1 : full.lastIndexOf(".");
    return new PythonName(full.slice(0, dot), full.slice(dot + 1));
  }

  private leaf(): unknown {
    const leaves = [
      () => null,
      () => this.choices.below(2) === 0,
      () => this.choices.pick([0, -1, 255, 65536, 2 ** 40, 0.5, -0, Number.NaN]),
      () => 2n ** 70n,
      () => this.choices.pick(["", "key", "__proto__", "é😀", "constructor"]),
      () => new Uint8Array([1, 255]),
      () => noteByteArray(new Uint8Array([7])),
      () => this.name(),
      () => this.keep(arange(this.choices.below(4)).to("float32")),
      () => Object.freeze([]),
    ];
    return this.choices.pick(leaves)();
  }

  private filled(target: Record<string, unknown> | Map<unknown, unknown>, depth: number): void {
    for (const value of this.some(depth)) {
      const key = this.choices.pick(["a", "b", "__proto__", "toString", "_parameters"]);
      if (target instanceof Map) target.set(this.choices.below(2) === 0 ? key : this.choices.below(9), value);
      else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
    }
  }

  private object(depth: number): PythonObject {
    const how = this.choices.pick(["new", "call"] as const);
    const callee = this.choices.below(8) === 0 ? this.object(depth + 1) : this.name();
    const args = this.some(depth);
    const kwargs = how === "new" && this.choices.below(4) === 0 ? { k: this.value(depth + 1) } : null;
    const made = this.keep(new PythonObject(callee, { how, args, kwargs }));
    if (this.choices.below(4) === 0) made.listItems = ["x", ...this.some(depth)];
    if (this.choices.below(4) === 0) this.filled((made.dictItems = new Map([[1, null]])), depth);
    const state = this.choices.below(4);
    if (state === 0) this.filled((made.state = {}), depth);
    else if (state === 1) made.state = Object.freeze([{ x: this.value(depth + 1) }, this.value(depth + 1)]);
    else if (state === 2) made.state = this.value(depth + 1);
    if (made.state !== undefined && this.choices.below(6) === 0) made.stateSetter = this.name();
    return made;
  }

  value(depth = 0): unknown {
    if (--this.left < 0 || depth > 8) return this.leaf();
    const kind = this.choices.below(12);
    if (kind < 2 && this.before.length > 0) return this.choices.pick(this.before);
    if (kind < 5) return this.object(depth);
    if (kind === 5) {
      const list: unknown[] = this.keep(this.choices.below(3) === 0 ? noteDeque([], this.choices.pick([null, 9])) : []);
      list.push(...this.some(depth));
      return list;
    }
    if (kind === 6) return this.keep(Object.freeze([this.leaf(), ...this.some(depth)]));
    if (kind === 7) {
      const dict: Record<string, unknown> = this.keep({});
      this.filled(dict, depth);
      return dict;
    }
    if (kind === 8) {
      const map = this.keep(new Map<unknown, unknown>([[1, float(2)]]));
      const is = this.choices.pick(["dict", "OrderedDict", "defaultdict"] as const);
      noteDict(map, is, is === "defaultdict" ? this.name() : undefined);
      this.filled(map, depth);
      return map;
    }
    if (kind === 9) return this.keep(noteFrozenSet(new Set(["a", 1])));
    return this.leaf();
  }
}

/** The pickle of a file. */
function pickleIn(path: string): Uint8Array {
  const zip = readZip(path);
  const name = [...zip.entries.keys()].find((key) => key.endsWith("data.pkl")) as string;
  return zip.readSmall(zip.entry(name), 2 ** 26);
}

describe("drawn at random", () => {
  test("what was written is read as it was, and written as the same bytes again", () => {
    const [path, again] = [join(dir, "drawn.pt"), join(dir, "again.pt")];
    const end = Date.now() + SECONDS * 1000;
    let seed = 0;
    for (; seed < 2000 && Date.now() < end; seed++) {
      const value = new Drawing(new Choices(seed)).value();
      saveTorch(value, path);
      const read = loadExactly(path);
      expect([seed, objectText(read)]).toEqual([seed, objectText(value)]);
      saveTorch(read, again);
      expect([seed, Bun.hash(pickleIn(again))]).toEqual([seed, Bun.hash(pickleIn(path))]);
      for (const unknown of ["skip", "refuse"] as const) {
        try {
          loadTorch(path, { unknown });
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }
    }
    expect(seed).toBeGreaterThan(50);
  }, 600_000);

  test("damaged: an error of the format or a value that can be shown, and written or refused", () => {
    const path = join(dir, "damaged.pt");
    const end = Date.now() + SECONDS * 1000;
    let read = 0;
    for (let seed = 0; seed < 4000 && Date.now() < end; seed++) {
      const choices = new Choices(seed);
      saveTorch(new Drawing(choices).value(), path);
      const system = "\x80\x02\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
      const damaged = damagedPickle(pickleIn(path), choices);
      const file = join(dir, "damaged-old.pt");
      const [before, after] = [Buffer.from(system, "latin1"), Buffer.from("\x80\x02].", "latin1")];
      writeFileSync(file, Buffer.concat([before, damaged, after]));
      try {
        const value = loadTorch(file);
        read++;
        if (value instanceof PythonObject) String(value);
        Bun.inspect(value);
        saveTorch(value, join(dir, "damaged-again.pt"));
        loadTorch(join(dir, "damaged-again.pt"));
      } catch (error) {
        if (!(error instanceof FormatError)) throw new Error(`seed ${seed}: ${(error as Error).stack}`);
      }
    }
    expect(read).toBeGreaterThan(0);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  }, 600_000);
});

test("tensors are drawn, too", () => {
  const seen = new Set<string>();
  const look = (value: unknown): void => {
    if (value instanceof Tensor) seen.add("tensor");
    else if (value instanceof PythonObject) seen.add(value.how);
    else if (Array.isArray(value)) for (const item of value) if (typeof item !== "object" || item !== value) look(item);
  };
  for (let seed = 0; seed < 200; seed++) look(new Drawing(new Choices(seed)).value());
  expect([...seen].sort()).toEqual(["call", "new", "tensor"]);
});
