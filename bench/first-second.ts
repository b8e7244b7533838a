// What calls on dictionaries cost in the first second of a process, beside tensordict in Python: every sample is a
// process of its own, which calls each of these for a while, in turn or one alone. What counts is the time that its
// thread computes.
//   bun bench/first-second.ts [--calls n] [--rounds 7] [--only text] [--alone] [--beside file]
// Each is called for an eighteenth of a second, or `--calls` times; `--alone` gives each a process; `--beside` names
// this file in another clone, whose library is measured in turn with this one.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cat, lazyStack, nn, slice, stack, TensorDict, type TensorDictBase, tensordict, zeros } from "zensor";
import { findPython } from "./peer.ts";
import { median } from "./statistics.ts";

/** Makes what is called again and again; and the same in Python: what comes before, and the statement. */
type Call = readonly [name: string, make: () => () => unknown, setup: string, statement: string];

function three(): TensorDictBase {
  return new TensorDict({ a: zeros(4, 3), b: zeros(4), nested: { c: zeros(4) } }, [4]);
}
const THREE = "TensorDict({'a': torch.zeros(4, 3), 'b': torch.zeros(4), 'nested': {'c': torch.zeros(4)}}, [4])";
const TD = `td = ${THREE}`;

const sixteen = () => Array.from({ length: 16 }, three);
const SIXTEEN = `tds = [${THREE} for _ in range(16)]`;

export const CALLS: readonly Call[] = [
  [
    "construction of 3 keys",
    () => {
      const [a, b, c] = [zeros(4, 3), zeros(4), zeros(4)];
      return () => new TensorDict({ a, b, c }, [4]);
    },
    "a, b, c = torch.zeros(4, 3), torch.zeros(4), torch.zeros(4)",
    "TensorDict({'a': a, 'b': b, 'c': c}, [4])",
  ],
  [
    "set",
    () => {
      const [td, value] = [three(), zeros(4)];
      return () => td.set("b", value);
    },
    `${TD}; value = torch.zeros(4)`,
    "td.set('b', value)",
  ],
  on("get", (td) => td.get("a"), "td.get('a')"),
  on("nested get", (td) => td.get(["nested", "c"]), "td.get(('nested', 'c'))"),
  [
    "update",
    () => {
      const [td, other] = [three(), three()];
      return () => td.update(other);
    },
    `${TD}; other = ${THREE}`,
    "td.update(other)",
  ],
  on("index", (td) => td.at(1), "td[1]"),
  on("slice", (td) => td.at(slice(1, 3)), "td[1:3]"),
  [
    "write to an index",
    () => {
      const [td, row] = [three(), three().at(0).clone()];
      return () => td.setAt(1, row);
    },
    `${TD}; row = td[0].clone()`,
    "td[1] = row",
  ],
  [
    "stack of 16",
    () => {
      const tds = sixteen();
      return () => stack(tds);
    },
    SIXTEEN,
    "torch.stack(tds)",
  ],
  [
    "cat of 4",
    () => {
      const tds = sixteen().slice(0, 4);
      return () => cat(tds);
    },
    `${SIXTEEN}[:4]`,
    "torch.cat(tds)",
  ],
  [
    "index of a lazy stack",
    () => {
      const lazy = lazyStack(sixteen());
      return () => lazy.at(1);
    },
    `${SIXTEEN}; lazy = lazy_stack(tds)`,
    "lazy[1]",
  ],
  on("clone", (td) => td.clone(), "td.clone()"),
  on("to(dtype)", (td) => td.to("float64"), "td.to(torch.float64)"),
  on("reshape", (td) => td.reshape([2, 2]), "td.reshape(2, 2)"),
  on("select", (td) => td.select("a", "b"), "td.select('a', 'b')"),
  on("apply", (td) => td.apply((x) => x.add(1)), "td.apply(lambda x: x + 1)"),
  on("sum", (td) => td.sum(), "td.sum()"),
  [
    "TensorDictModule call",
    () => {
      const module = new tensordict.nn.TensorDictModule(new nn.Linear(3, 4), ["a"], ["out"]);
      const td = three();
      return () => module(td);
    },
    `from tensordict.nn import TensorDictModule; ${TD}
module = TensorDictModule(torch.nn.Linear(3, 4), in_keys=['a'], out_keys=['out'])`,
    "module(td)",
  ],
];

/** The same of others, in a process of their own. */
export const MORE: readonly Call[] = [
  on("unsqueeze", (td) => td.unsqueeze(0), "td.unsqueeze(0)"),
  on("unbind", (td) => td.unbind(0), "td.unbind(0)"),
  on("split", (td) => td.split(2), "td.split(2)"),
  on("exclude", (td) => td.exclude("b"), "td.exclude('b')"),
  on("flattenKeys", (td) => td.flattenKeys(), "td.flatten_keys()"),
  on("items", (td) => [...td.items()], "list(td.items())"),
  on("nested keys", (td) => [...td.keys(true, true)], "list(td.keys(True, True))"),
  on("add 1", (td) => td.add(1), "td + 1"),
];

/** One statement on a dictionary. */
function on(name: string, body: (td: TensorDictBase) => unknown, statement: string): Call {
  return [
    name,
    () => {
      const td = three();
      return () => body(td);
    },
    TD,
    statement,
  ];
}

/** Seconds of a call, by its name. */
type Times = Record<string, number>;

/** Seconds that this thread has computed: what else the computer does counts little. */
function computed(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1e6;
}

/** How long each is called, in seconds. */
const SHARE = 1 / 18;

/** In the process that is measured: the mean of the calls of each. */
function ours(calls: readonly Call[], count: number): Times {
  return Object.fromEntries(
    calls.map(([name, make]) => {
      const call = make();
      let done = 0;
      const start = computed();
      for (let spent = 0; count === 0 ? spent < SHARE : done < count; spent = computed() - start) {
        for (let i = 0; i < 50; i++) call();
        done += 50;
      }
      return [name, (computed() - start) / done];
    }),
  );
}

const selected = (names: readonly string[]) => [...CALLS, ...MORE].filter(([name]) => names.includes(name));

function run(words: readonly string[]): Times {
  const env = { ...process.env, OMP_NUM_THREADS: "1", ZENSOR_NUM_THREADS: "1" };
  const child = Bun.spawnSync([...words], { stderr: "inherit", env });
  if (child.exitCode !== 0) throw new Error(`${words[0]} ended with ${child.exitCode}`);
  return JSON.parse(child.stdout.toString()) as Times;
}

/** The same in Python: a process that has loaded everything goes on as two for each sample. */
function theirs(python: string, calls: readonly Call[], count: number): Times {
  const cases = JSON.stringify(calls.map(([name, , setup, statement]) => [name, setup, statement]));
  return run([python, "-W", "ignore", join(import.meta.dir, "peers", "first_second.py"), cases, `${count}`]);
}

const micro = (seconds: number) => `${(seconds * 1e6).toFixed(2)} µs`;
const geometric = (list: readonly number[]) => Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);

/** Who is measured, by the heads of their columns. */
type Sides = ReadonlyMap<string, (calls: readonly Call[]) => Times>;

function measure(sides: Sides, groups: readonly (readonly Call[])[], rounds: number): Map<string, number[]> {
  const samples = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const group of groups) {
      for (const [label, side] of sides) {
        for (const [name, seconds] of Object.entries(side(group))) {
          const key = `${label}: ${name}`;
          samples.set(key, [...(samples.get(key) ?? []), seconds]);
        }
      }
    }
  }
  return samples;
}

/** A Markdown table of some calls, and what their ratios come to. */
function report(sides: Sides, calls: readonly Call[], samples: ReadonlyMap<string, number[]>): void {
  const labels = [...sides.keys()];
  const found = (label: string, name: string) => median(samples.get(`${label}: ${name}`) ?? []);
  const own = labels.filter((label) => label !== PYTHON);
  const ratio = (label: string, name: string) => found(label, name) / found(PYTHON, name);
  const against = labels.includes(PYTHON) ? own : [];
  const row = (cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);
  row(["call", ...labels, ...against.map((label) => `${label} / ${PYTHON}`)]);
  row(Array.from({ length: 1 + labels.length + against.length }, () => "---"));
  for (const [name] of calls) {
    const times = labels.map((label) => micro(found(label, name)));
    row([name, ...times, ...against.map((label) => ratio(label, name).toFixed(3))]);
  }
  for (const label of against) {
    const ratios = calls.map(([name]) => ratio(label, name));
    console.log(
      `\n${label}: geometric mean ${geometric(ratios).toFixed(3)}, the largest ${Math.max(...ratios).toFixed(3)}\n`,
    );
  }
}

const PYTHON = "Python";

function main(): void {
  const { values } = parseArgs({
    options: {
      calls: { type: "string", default: "0" },
      rounds: { type: "string", default: "7" },
      only: { type: "string", default: "" },
      alone: { type: "boolean", default: false },
      child: { type: "string" },
      beside: { type: "string" },
    },
  });
  const count = Number(values.calls);
  if (values.child !== undefined) {
    console.log(JSON.stringify(ours(selected(values.child.split(",")), count)));
    return;
  }
  const python = findPython();
  const zensor = (file: string) => (calls: readonly Call[]) =>
    run([process.execPath, file, "--calls", `${count}`, "--child", calls.map(([name]) => name).join(",")]);
  const sides = new Map<string, (calls: readonly Call[]) => Times>();
  if (values.beside !== undefined) sides.set("beside", zensor(values.beside));
  sides.set("ours", zensor(import.meta.path));
  if (python !== null) sides.set(PYTHON, (calls) => theirs(python, calls, count));
  for (const all of [CALLS, MORE]) {
    const calls = all.filter(([name]) => name.includes(values.only));
    const groups = values.alone ? calls.map((call) => [call]) : [calls];
    if (calls.length > 0) report(sides, calls, measure(sides, groups, Number(values.rounds)));
  }
}

if (import.meta.main) main();
