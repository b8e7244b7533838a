// What both sides of the native boundary agree on: one table, one hash, no copies.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { abiHash, emitAbiTs, emitAbiZig, SHARED } from "../../codegen/emit/abi.ts";
import { emitOpsZig, emitSymbols } from "../../codegen/emit/symbols.ts";
import { loadModel, type Model } from "../../codegen/model/load.ts";
import { copiesIn, groupsOf, placesIn, unusedIn } from "../../codegen/verify/boundary.ts";

const model = loadModel();

type Json = string | number | boolean | Json[] | { [key: string]: Json };

/** Every way to change one thing of a value: a number, a text, a name, one row less. Remarks are left as they are. */
function* changesOf(value: Json): Generator<[what: string, changed: Json]> {
  if (typeof value === "number") yield ["", value + 1];
  else if (typeof value === "string") yield ["", `${value}x`];
  else if (typeof value === "boolean") yield ["", !value];
  else if (Array.isArray(value)) {
    for (const [i, member] of value.entries()) {
      yield [` without [${i}]`, value.toSpliced(i, 1)];
      for (const [what, changed] of changesOf(member)) yield [`[${i}]${what}`, value.with(i, changed)];
    }
    const turned = value.toReversed();
    if (JSON.stringify(turned) !== JSON.stringify(value)) yield [" in another order", turned];
  } else {
    for (const [key, member] of Object.entries(value)) {
      if (key === "doc" || key === "docs") continue;
      const { [key]: old, ...rest } = value;
      yield [`: ${key} has another name`, { ...rest, [`${key}x`]: old as Json }];
      for (const [what, changed] of changesOf(member)) yield [`.${key}${what}`, { ...value, [key]: changed }];
    }
  }
}

test("a change of anything that is shared changes the hash", () => {
  const before = abiHash(model);
  const silent: string[] = [];
  let count = 0;
  for (const table of SHARED) {
    for (const [what, changed] of changesOf(model[table] as unknown as Json)) {
      count++;
      if (abiHash({ ...model, [table]: changed } as unknown as Model) === before) silent.push(table + what);
    }
  }
  expect(silent).toEqual([]);
  expect(count).toBeGreaterThan(1000);
});

test("whatever changes the text of a side's tables, but for remarks, changes the hash", () => {
  const text = (m: Model) => [emitAbiTs(m), emitAbiZig(m), emitSymbols(m), emitOpsZig(m)].join("\n");
  const bare = (m: Model) => text(m).replaceAll(abiHash(m), "");
  // Tables of the model that the hash leaves out have no say in the four files.
  const others = Object.keys(model).filter((key) => !(SHARED as readonly string[]).includes(key));
  for (const key of others) {
    // Which kernels CUDA devices have is told by the operators, and decides nothing that TypeScript counts on.
    const plain = (m: Model) => bare(m).replaceAll(/\.cuda = \w+/g, "");
    expect([key, plain({ ...model, [key]: key === "arities" ? new Map() : [] } as Model) === plain(model)]).toEqual([
      key,
      true,
    ]);
  }
});

test("remarks make no other library necessary", () => {
  const statuses = model.statuses.map((row) => ({ ...row, doc: "Something else." }));
  const codes = model.codes.map((row) => ({ ...row, doc: "Something else.", docs: {} }));
  expect(abiHash({ ...model, statuses, codes })).toBe(abiHash(model));
});

describe("copies", () => {
  const groups = groupsOf(model);
  const copies = (text: string, file = "src/io/x.ts") =>
    copiesIn(file, text, groups).map(({ line, message }) => `${line}: ${message.split(":")[0]}`);

  test("two names with their numbers are a copy, in either language", () => {
    expect(copies("x();\nconst FLAG = {\n  write: 1,\n  noFollow: 8,\n};\n")).toEqual(["3: a copy of JobFlag"]);
    expect(copies("const WRITE = 1;\nconst KEEP_FD = 1 << 10;\n")).toEqual(["1: a copy of JobFlag"]);
    const zig = "pub const status_too_small: f64 = -10001;\npub const status_exists: f64 = -10002;\n";
    expect(copies(zig, "zig/src/io/x.zig")).toEqual(["1: a copy of JobStatus"]);
    expect(copies("const Mode = enum(u8) { assign = 0, add = 1 };", "zig/src/cpu/x.zig")).toEqual([
      "1: a copy of IndexMode",
    ]);
    expect(copies("const INT64 = 5;\n")).toEqual(["1: a copy of DType"]);
  });

  test("other numbers, and one name by chance, are none", () => {
    expect(copies("const options = { write: 2, noFollow: 4 };\n")).toEqual([]);
    expect(copies("let write = 1;\n")).toEqual([]);
    expect(copies("const bytes = { int64: 8, float32: 4 };\n")).toEqual([]);
    expect(copies("const READ_WRITE = 1;\nconst EXCLUSIVE = 4;\n", "src/io/hdf5/x.ts")).toEqual([]);
  });

  test("attributes have names", () => {
    expect(placesIn("src/dispatch/x.ts", "frame.attr(2, x);").length).toBe(1);
    expect(placesIn("zig/src/cpu/x.zig", "const d = fr.attr_int(f, 0);").length).toBe(1);
    expect(placesIn("zig/src/cpu/x.zig", "if (j.f.attrs[1] != 0) return;").length).toBe(1);
    expect(placesIn("src/dispatch/x.ts", "frame.attr(SortAttr.dim, x); frame.attr(2 * i, y);")).toEqual([]);
  });

  test("a group is used on both sides", () => {
    const missing = (side: string, text: string) => unusedIn(side, [text], [{ name: "JobFlag", values: {} }]).length;
    expect([missing("Zig", "abi.JobFlag"), missing("Zig", "const JobFlag = 1;")]).toEqual([0, 1]);
    expect(missing("Zig", "abi_files.JobFlag")).toBe(0);
    expect([missing("TypeScript", "x | JobFlag.map"), missing("TypeScript", "x | JobFlags.map")]).toEqual([0, 1]);
  });
});

test("the families with numbers are those that the build knows", () => {
  const text = readFileSync(join(import.meta.dir, "../../zig/src/cpu/families.zig"), "utf8");
  const list = (name: string): string[] => {
    const names = new RegExp(`pub const ${name} = \\[_\\]\\[\\]const u8\\{([^}]*)\\}`).exec(text)?.[1] ?? "";
    return [...names.matchAll(/"(\w+)"/g)].map(([, one]) => one as string);
  };
  const known = [...list("with_numbers"), ...list("root_numbers")].sort();
  const families = new Set(model.codes.map(({ family }) => family as string));
  families.delete("call");
  expect(known).toEqual([...families].sort());
});
