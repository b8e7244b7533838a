/** What PyTorch, NumPy and tensordict call things, and what they are called here: the tables behind the guide. */
import { type Inventoried, type PublicName, publicNames } from "../../scripts/docs/public-names.ts";
import { FUNCTIONS, METHODS } from "../../src/tensordict/core/signatures.ts";
import { type Arg, camel, type Model, type Op } from "../model/load.ts";
import { placesOf } from "../model/places.ts";
import { PEERS } from "../peers/names.ts";
import { NUMPY } from "../peers/numpy.ts";
import { NOT_APPLICABLE } from "../peers/tensordict.ts";

let read: Inventoried | undefined;
const inventory = (): Inventoried => {
  read ??= publicNames();
  return read;
};
const allNames = (): PublicName[] => inventory().names;

const table = (left: string, right: string, rows: readonly (readonly [string, string])[]): string[] => [
  `| ${left} | ${right} |`,
  "| --- | --- |",
  ...rows.map(([a, b]) => `| ${a.replaceAll("|", "\\|")} | ${b.replaceAll("|", "\\|")} |`),
  "",
];

/** `self, dim, { keepdim, out }`. */
function argumentsOf(args: readonly Arg[], extra: readonly string[], skip: number): string {
  const options = [...args.filter((a) => a.byName).map((a) => a.name), ...extra];
  const places = args
    .slice(skip)
    .filter((a) => !a.byName)
    .map((a) => (a.fallback === undefined ? a.name : `${a.name}?`));
  return [...places, ...(options.length > 0 ? [`{ ${options.join(", ")} }`] : [])].join(", ");
}

/** The calls of an overload: function, method, in-place form, property. */
function callsOf(op: Op, name: string): string[] {
  const has = (form: string) => (op.variants as readonly string[]).includes(form);
  const prefix = op.namespace ? `${op.namespace}.` : "";
  const out = has("out") ? ["out"] : [];
  const calls: string[] = [];
  if (has("function")) calls.push(`${prefix}${name}(${argumentsOf(op.args, out, 0)})`);
  if (has("method")) calls.push(`x.${name}(${argumentsOf(op.args, out, 1)})`);
  const inNamespace = has("inplace") && prefix !== "";
  if (inNamespace) calls.push(`${prefix}${name}_(${argumentsOf(op.args, [], 0)})`);
  else if (has("inplace")) calls.push(`x.${name}_(${argumentsOf(op.args, [], 1)})`);
  if (has("property")) calls.push(`x.${name}`);
  return calls;
}

/** Every public operator under each of its names, with its calls. */
function operatorRows(model: Model): Map<string, string[]> {
  const rows = new Map<string, string[]>();
  for (const op of [...model.ops].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (op.internal) continue;
    for (const { name, namespace, op: there } of placesOf(op)) {
      const calls = callsOf(there, name);
      if (calls.length === 0) continue;
      // Some second names are written as they are called here.
      const torch = name === there.publicName ? there.name : snake(name);
      const key = `torch.${namespace ? `${namespace}.` : ""}${torch}`;
      rows.set(key, [...new Set([...(rows.get(key) ?? []), ...calls])]);
    }
  }
  return rows;
}

const cells = (calls: readonly string[]): string => calls.map((call) => `\`${call}\``).join("<br>");
const byName = <T extends readonly [string, ...unknown[]]>(rows: T[]): T[] =>
  rows.sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : a.toLowerCase() > b.toLowerCase() ? 1 : 0));

/** The names of a namespace there that nothing here has, as one paragraph. */
function absent(title: string, names: readonly string[], there: ReadonlySet<string>): string[] {
  const missing = names.filter((name) => !there.has(name.replace(/_$/, "")) && !there.has(name));
  if (missing.length === 0) return [];
  return [`**${title}** (${missing.length} of ${names.length}): ${missing.map((name) => `\`${name}\``).join(" ")}`, ""];
}

const snake = (name: string): string =>
  name.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a}_${b.toLowerCase()}`);
const last = (name: string): string => name.split(".").at(-1) as string;

/** Namespaces of PyTorch of which it is told what is not there. */
const FURTHER = [
  ...["nn.functional", "linalg", "fft", "special", "func", "autograd", "distributions"],
  ...["optim", "optim.lr_scheduler", "utils.data", "amp"],
].map((name) => `torch.${name}`);

export function emitFromPytorch(model: Model): string {
  const rows = operatorRows(model);
  const others = allNames().filter(({ name, torch }) => /^(torch|Tensor)\./.test(torch ?? "") && !/^Nested/.test(name));
  // A member that overrides another one has its name there, too: it is listed once, for the base class.
  const overridden = new Set<string>();
  const rest = others.filter(({ name, torch }) => {
    const [, member] = name.split("#");
    const key = `${torch} ${member}`;
    if (member !== undefined && overridden.has(key)) return false;
    overridden.add(key);
    return !rows.has(torch as string) && !rows.has((torch as string).replace(/_$/, ""));
  });
  const seconds = inventory().aliases.map(([name]) => [`torch.${snake(name)}`, name] as const);
  const known = [
    ...rows.keys(),
    ...seconds.map(([name]) => name),
    ...others.map((row) => (row.torch as string).replace(/ .*$/, "")),
  ];
  const within = (prefix: string) => new Set(known.filter((name) => name.startsWith(prefix)).map(last));
  const methods = within("Tensor.");
  for (const { name } of allNames())
    if (name.startsWith("Tensor#")) methods.add(snake(name.slice(7))).add(name.slice(7));
  const { torch } = PEERS.versions;
  return [
    "# PyTorch's names",
    "",
    `Every operator, from the schema; PyTorch ${torch}. \`x\` is a tensor, \`?\` may be left out, and any argument`,
    "may also be named in the object at the end. What differs: [the guide](../docs/guide/from-pytorch.md).",
    "",
    "## Operators",
    "",
    ...table("PyTorch", "zensor", byName([...rows].map(([name, calls]) => [`\`${name}\``, cells(calls)] as const))),
    "## Everything else",
    "",
    ...table(
      "PyTorch",
      "zensor",
      byName(
        [...rest.map((row) => [row.torch, row.name] as const), ...seconds].map(([a, b]) => [`\`${a}\``, `\`${b}\``]),
      ),
    ),
    "## Not there yet",
    "",
    ...absent("torch", PEERS.torch as string[], within("torch.")),
    ...absent("Tensor", PEERS.Tensor as string[], methods),
    ...absent("torch.nn", PEERS["torch.nn"] as string[], within("torch.nn.")),
    ...FURTHER.flatMap((name) => absent(name, PEERS[name] as string[], within(`${name}.`))),
  ].join("\n");
}

export function emitFromNumpy(model: Model): string {
  const rows = operatorRows(model);
  const within = (name: string) => (PEERS[`numpy.${name}`] as string[]).map((one) => `${name}.${one}`);
  const names = [...(PEERS.numpy as string[]), ...within("linalg"), ...within("random")];
  const found: [string, string][] = [];
  for (const name of names) {
    const call = NUMPY[name];
    if (call === "") continue;
    const calls = call !== undefined ? call.split(/, (?=\w+(?:\.\w+)*[(.])/) : rows.get(`torch.${name}`);
    if (calls !== undefined) found.push([`\`np.${name}\``, cells(calls)]);
  }
  const there = new Set(found.map(([name]) => name.slice(4, -1)));
  const below = (name: string) =>
    new Set([...there].flatMap((one) => (one.startsWith(`${name}.`) ? [one.slice(name.length + 1)] : [])));
  const unknown = Object.keys(NUMPY).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`codeg../peers/numpy.ts: NumPy has no ${unknown.join(", ")}`);
  return [
    "# NumPy's names",
    "",
    `NumPy ${PEERS.versions.numpy}. NumPy's \`axis\` is \`dim\`; either name is taken. What differs is told in`,
    "[the guide](../docs/guide/from-numpy.md).",
    "",
    ...table("NumPy", "zensor", byName(found)),
    "## Not there yet",
    "",
    ...absent("numpy", PEERS.numpy as string[], there),
    ...["linalg", "random"].flatMap((name) => absent(`numpy.${name}`, PEERS[`numpy.${name}`] as string[], below(name))),
  ].join("\n");
}

/** A call by the signature of src/tensordict/core/signatures.ts: `name:kind name?:kind | option:kind`. */
function signatureText(signature: string): string {
  const [places = "", options = ""] = signature.split("|");
  const words = (text: string) =>
    text
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "");
  const named = words(options).map((word) => (word.split(":")[0] as string).replace("?", ""));
  const list = words(places).map((word) => word.split(":")[0] as string);
  return [...list, ...(named.length > 0 ? [`{ ${named.join(", ")} }`] : [])].join(", ");
}

const camelOf = (name: string): string => (/^[A-Z]/.test(name) ? name : camel(name)).replace("None", "Null");

/** Classes, helpers and modules of tensordict: what has the same name here. */
function otherNames(found: ReadonlyMap<string, unknown>): [row: string, here: string | undefined][] {
  // A second name of one function is not among those of the declarations.
  const aliases = [["assertAllcloseTd", "tensordict.assertAllcloseTd"]] as const;
  const exported = new Map<string, string>([
    ...aliases,
    ...allNames().map(({ name }) => [name.split(".").at(-1) as string, name] as const),
  ]);
  const list = (prefix: string, names: readonly string[]) => names.map((name) => [`${prefix}.${name}`, name] as const);
  return [
    ...list("tensordict", PEERS.tensordict as string[]).filter(([name]) => !found.has(name)),
    ...list("tensordict", PEERS["tensordict classes"] as string[]),
    ...list("tensordict.utils", PEERS["tensordict.utils"] as string[]),
    ...list("tensordict.nn", PEERS["tensordict.nn"] as string[]),
  ].map(([full, name]) => {
    const here = exported.get(camelOf(name)) ?? exported.get(name);
    return [full, here?.includes("#") ? undefined : here];
  });
}

export function emitFromTensordict(_model: Model): string {
  const found = new Map<string, string[]>();
  const add = (name: string, call: string) => found.set(name, [...(found.get(name) ?? []), call]);
  const methods: Readonly<Record<string, string>> = METHODS;
  const functions: Readonly<Record<string, string>> = FUNCTIONS;
  const ours = new Set<string>();
  for (const { name, torch, kind, parameters } of allNames()) {
    const [, owner, member] = /^(TensorDictBase|TensorDict|LazyStackedTensorDict)[#.](\w+)$/.exec(name) ?? [];
    if (owner !== undefined && member !== undefined) {
      const there = torch === null ? snake(member) : last(torch).replace(/\)$/, "");
      if (!(PEERS.TensorDict as string[]).includes(there)) continue;
      if (ours.has(`${there} ${member}`)) continue;
      ours.add(`${there} ${member}`);
      const holder = name.includes("#") ? "td" : owner;
      const signature = methods[member];
      const call =
        kind === "property" ? "" : `(${signature === undefined ? parameters.join(", ") : signatureText(signature)})`;
      add(`TensorDict.${there}`, `${holder}.${member}${call}`);
    } else if (torch?.startsWith("tensordict.") && kind === "function") {
      const signature = functions[last(name)];
      add(torch, `${name}(${signature === undefined ? parameters.join(", ") : signatureText(signature)})`);
    }
  }
  const rows = [...found].map(([name, calls]) => [`\`${name}\``, cells(calls)] as const);
  const exported = allNames().flatMap(({ name }) => /^(?:tensordict\.)?(\w+)$/.exec(name)?.[1] ?? []);
  const there = (prefix: string) =>
    new Set(
      [...found.keys(), ...exported.map((name) => `tensordict.${snake(name)}`)]
        .filter((name) => name.startsWith(prefix))
        .map((name) => last(name)),
    );
  const others = otherNames(found);
  const absentNames = [
    ...(PEERS.TensorDict as string[]).filter((n) => !there("TensorDict.").has(n)).map((n) => `TensorDict.${n}`),
    ...others.filter(([, here]) => here === undefined).map(([name]) => name),
  ];
  const explained = new Set(NOT_APPLICABLE.flatMap(([, names]) => names));
  const waiting = absentNames.filter((name) => !explained.has(name));
  return [
    "# tensordict's names",
    "",
    `tensordict ${PEERS.versions.tensordict}. \`td\` is a TensorDict, \`?\` may be left out, and any argument may also`,
    "be named in the object at the end. What differs: [the guide](../docs/guide/from-tensordict.md).",
    "",
    ...table("tensordict", "zensor", byName(rows)),
    "## Classes, helpers and modules",
    "",
    ...table(
      "tensordict",
      "zensor",
      byName(others.flatMap(([name, here]) => (here === undefined ? [] : [[`\`${name}\``, `\`${here}\``] as const]))),
    ),
    "## Not applicable",
    "",
    ...table(
      "tensordict",
      "why",
      NOT_APPLICABLE.map(([why, names]) => [names.map((name) => `\`${name}\``).join(" "), why] as const),
    ),
    "## Not there yet",
    "",
    waiting.length === 0 ? "Nothing." : waiting.map((name) => `\`${name}\``).join(" "),
    "",
  ].join("\n");
}
