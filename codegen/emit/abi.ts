/** generated/abi.ts, generated/abi.zig and abi_<family>.zig: the numbers and structs that both sides share. */
import { camel, type Model } from "../model/load.ts";

/** The tables of the model that cross the boundary: a change of any of them makes another library necessary. */
export const SHARED = [
  "dtypes",
  "computes",
  "statuses",
  "natives",
  "frame",
  "job",
  "codes",
  "kernels",
  "fast",
] as const satisfies readonly (keyof Model)[];

/** What is said about a row is no part of the boundary. */
const REMARKS = new Set(["doc", "docs"]);

export function abiHash(model: Model): string {
  const shared = Object.fromEntries(SHARED.map((table) => [table, model[table]]));
  const text = JSON.stringify(shared, (key, value) => (REMARKS.has(key) ? undefined : value));
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
}

/** Positions, in f64 units, of everything in the frame. */
export function frameLayout(model: Model): Record<string, number> {
  const f = model.frame;
  const detail = f.header.length;
  const attrs = detail + f.detail;
  const scratch = attrs + f.attrs;
  const operands = scratch + f.scratch;
  const shape = f.operand.length;
  return {
    DETAIL: detail,
    ATTRS: attrs,
    SCRATCH: scratch,
    OPERANDS: operands,
    OPERAND_SIZE: shape + 2 * f.maxRank,
    SHAPE: shape,
    STRIDES: shape + f.maxRank,
    MAX_RANK: f.maxRank,
    DETAIL_SIZE: f.detail,
    ATTR_COUNT: f.attrs,
    SCRATCH_SIZE: f.scratch,
    ...places(f.header),
    ...places(f.operand),
  };
}

/** Fields by their place; those that are kept free have none. */
function places(names: readonly string[]): Record<string, number> {
  const used = names.flatMap((name, i) => (name.startsWith("reserved_") ? [] : [[name.toUpperCase(), i] as const]));
  return Object.fromEntries(used);
}

export function emitAbiTs(model: Model): string {
  const lines = ["/** Hash of everything below; the library must have been built with the same. */"];
  lines.push(`export const ABI_HASH = "${abiHash(model)}";`, "");
  lines.push("/** Element types by id. */", "export const DTYPES = [");
  for (const d of model.dtypes) {
    const compute = model.computes.indexOf(d.compute);
    const { id, name, itemsize, category, scalarType, cppName, native, signed } = d;
    lines.push(`  ${JSON.stringify({ id, name, itemsize, category, scalarType, cppName, compute, native, signed })},`);
  }
  lines.push("] as const;", "", "/** Ids of the types that kernels compute in. */", "export const COMPUTE = {");
  model.computes.forEach((c, i) => lines.push(`  ${c}: ${i},`));
  lines.push("} as const;", "", "/** What a native call returns. */", "export const STATUS = {");
  for (const s of model.statuses) lines.push(`  ${s.name}: ${s.code},`);
  lines.push("} as const;", "", "/** Positions in the call frame, in f64 units. */", "export const FRAME = {");
  for (const [k, v] of Object.entries(frameLayout(model))) lines.push(`  ${k}: ${v},`);
  lines.push(
    "} as const;",
    "",
    "/** Numbers of one job of file work. */",
    `export const JOB_SIZE = ${model.job.length};`,
  );
  lines.push("/** Where they are. */", "export const JobField = {");
  model.job.forEach((field, i) => lines.push(`  /** ${field.doc} */`, `  ${camel(field.name)}: ${i},`));
  lines.push("} as const;", "");
  for (const group of model.codes) {
    lines.push(`/** ${group.doc} */`, `export const ${group.name} = {`);
    for (const [name, value] of Object.entries(group.values)) {
      const doc = group.docs?.[name];
      if (doc !== undefined) lines.push(`  /** ${doc} */`);
      lines.push(`  ${camel(name)}: ${value},`);
    }
    lines.push("} as const;", "");
  }
  return lines.join("\n");
}

function zigCodes({ name, doc, type, values, docs }: Model["codes"][number]): string[] {
  const isEnum = type.startsWith("enum");
  const out = [`/// ${doc}`, `pub const ${name} = ${isEnum ? type : "struct"} {`];
  for (const [key, value] of Object.entries(values)) {
    if (docs?.[key] !== undefined) out.push(`    /// ${docs[key]}`);
    out.push(isEnum ? `    ${key} = ${value},` : `    pub const ${key}: ${type} = ${value};`);
  }
  return [...out, "};", ""];
}

/** The groups of numbers of a family, and their names. */
function zigGroups(model: Model, family: string): string[] {
  const groups = model.codes.filter((group) => group.family === family);
  const names = groups.map(({ name }) => `    "${name}",`);
  const list = ["/// The groups of numbers above, by name.", "pub const codes = [_][]const u8{", ...names, "};"];
  return [...groups.flatMap(zigCodes), ...list];
}

/** The family of what belongs to every call, and that of the file room. */
const [OF_CALLS, OF_FILES] = ["call", "files"];

export function emitAbiZig(model: Model): string {
  const out: string[] = [];
  out.push("pub const DType = enum(u8) {");
  for (const d of model.dtypes) out.push(`    ${d.name} = ${d.id},`);
  out.push("};", "", "pub const Compute = enum(u8) {");
  model.computes.forEach((c, i) => out.push(`    ${c} = ${i},`));
  out.push("};", "", "pub const Status = enum(i32) {");
  for (const s of model.statuses) out.push(`    /// ${s.doc}`, `    ${s.name} = ${s.code},`);
  out.push("};", "", `pub const max_rank = ${model.frame.maxRank};`, "");
  out.push("pub const Operand = extern struct {");
  for (const name of model.frame.operand) out.push(`    ${name}: f64,`);
  out.push("    shape: [max_rank]f64,", "    strides: [max_rank]f64,", "};", "");
  out.push("pub const Frame = extern struct {");
  for (const name of model.frame.header) out.push(`    ${name}: f64,`);
  out.push(`    detail: [${model.frame.detail}]f64,`, `    attrs: [${model.frame.attrs}]f64,`);
  out.push(`    scratch: [${model.frame.scratch}]f64,`, "};", "");
  out.push(...zigGroups(model, OF_CALLS), "");
  const at = frameLayout(model);
  out.push("comptime {", '    const assert = @import("std").debug.assert;');
  out.push(`    assert(@offsetOf(Frame, "detail") == ${8 * (at.DETAIL as number)});`);
  out.push(`    assert(@offsetOf(Frame, "attrs") == ${8 * (at.ATTRS as number)});`);
  out.push(`    assert(@offsetOf(Frame, "scratch") == ${8 * (at.SCRATCH as number)});`);
  out.push(`    assert(@sizeOf(Frame) == ${8 * (at.OPERANDS as number)});`);
  out.push(`    assert(@offsetOf(Operand, "strides") == ${8 * (at.STRIDES as number)});`);
  out.push(`    assert(@sizeOf(Operand) == ${8 * (at.OPERAND_SIZE as number)});`, "}", "");
  return out.join("\n");
}

/** Every object reads `abi`; a family's own numbers are a file, read by the objects of that family. */
export function emitAbiFamilies(model: Model): Record<string, string> {
  const families = [...new Set(model.codes.map((group) => group.family))].filter((family) => family !== OF_CALLS);
  return Object.fromEntries(
    families.map((family) => {
      const job = family === OF_FILES ? zigJob(model) : [];
      return [`abi_${family}.zig`, [...job, ...zigGroups(model, family), ""].join("\n")];
    }),
  );
}

function zigJob(model: Model): string[] {
  const fields = model.job.flatMap((field) => [`    /// ${field.doc}`, `    ${field.name}: f64,`]);
  return ["/// One job of file work.", "pub const Job = extern struct {", ...fields, "};", ""];
}
