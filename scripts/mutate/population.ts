// Judges all mutants of TypeScript in a few processes: one copy of the repository has every mutant in it, switched by
// number. A child that a mutant stops, or leaves in another state, is followed by a fresh one.
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Base, Finding, Orders } from "./child.ts";
import { instrumented } from "./instrument.ts";
import type { Verdict } from "./judge.ts";
import { readLines } from "./known.ts";
import type { Mutant } from "./mutants.ts";

/**
 * What a child may take for loading, and for a mutant beyond the time it is given, before it is stopped: of the
 * processor's time, where the system tells it, since the machine may be busy with other work.
 */
const LOADING_MS = 90_000;
const LATE_MS = 10_000;
/** Rows of kernels and cases are short. */
const LATE_CASES_MS = 4000;
/** A child that takes no more of the processor's time for so long waits for what does not come. */
const ASLEEP_MS = 30_000;
const NO_WORK_MS = 100;

function instrument(folder: string, all: readonly Mutant[]): void {
  for (const file of new Set(all.map((m) => m.file))) {
    const first = all.findIndex((m) => m.file === file);
    const mutants = all.filter((m) => m.file === file);
    const path = join(folder, file);
    writeFileSync(path, instrumented(file, readFileSync(path, "utf8"), mutants, first));
  }
}

/** Test files of a copy collect their tests. */
function collecting(folder: string): void {
  const standIn = join(folder, "scripts", "mutate", "stand-in.ts");
  for (const name of readdirSync(join(folder, "test"), { recursive: true }) as string[]) {
    const path = join(folder, "test", name);
    if (name.endsWith(".ts")) {
      writeFileSync(path, readFileSync(path, "utf8").replaceAll('from "bun:test"', `from "${standIn}"`));
    }
  }
}

type Shared = Pick<Orders, "root" | "kernels" | "folders" | "cases" | "reach" | "seconds">;

/** The processor's time that a process has taken; null where that is not told. */
function cpuMs(pid: number): number | null {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return null;
  const fields = readFileSync(file, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Runs one child to its end; true when nothing is left to do. */
async function child(orders: Orders, mutant?: number): Promise<boolean> {
  const { root, out, ids } = orders;
  const file = `${out}.orders`;
  const before = readLines<Finding>(out);
  writeFileSync(file, JSON.stringify(orders));
  writeFileSync(`${out}.at`, "");
  const variables = {
    ORDERS: file,
    CI: "true",
    NO_COLOR: "1",
    ...(mutant === undefined ? {} : { MUTANT: `${mutant}` }),
  };
  const preload = join(root, "scripts", "mutate", "switch.ts");
  const words = [
    process.execPath,
    "test",
    "--timeout",
    "1000000000",
    "--preload",
    preload,
    "./scripts/mutate/child.ts",
  ];
  const stderr = ids.length === 0 ? "inherit" : "ignore";
  const env = { ...process.env, ...variables };
  const run = Bun.spawn(words, { cwd: root, env, stdin: "ignore", stdout: "ignore", stderr });
  let last = "";
  let since = Date.now();
  let worked = 0;
  let awake = { at: Date.now(), work: 0 };
  let hung: "runs" | "waits" | undefined;
  const late = orders.folders.length > 0 ? LATE_MS : LATE_CASES_MS;
  const watch = setInterval(() => {
    const at = readFileSync(`${out}.at`, "utf8");
    const work = cpuMs(run.pid);
    if (at !== last) [last, since, worked] = [at, Date.now(), work ?? 0];
    const most = at === "" ? LOADING_MS : 1000 * orders.seconds + late;
    const taken = work === null ? Date.now() - since : work - worked;
    if (work === null || work - awake.work > NO_WORK_MS) awake = { at: Date.now(), work: work ?? 0 };
    if (ids.length === 0) return;
    if (taken > most) hung = "runs";
    else if (Date.now() - awake.at > ASLEEP_MS) hung = "waits";
    if (hung !== undefined) run.kill("SIGKILL");
  }, 500);
  await run.exited;
  clearInterval(watch);
  const at = readFileSync(`${out}.at`, "utf8");
  if (at === "done") return true;
  const stopped = at === "" ? mutant : Number(at);
  if (stopped === undefined) throw new Error("the instrumented copy does not load");
  const said = readLines<Finding>(out).slice(before.length);
  if (said.at(-1)?.id === stopped) return false;
  // What only waited may have had no turn on a busy machine: it is tried once more.
  const once = hung === "waits" && !before.some((f) => f.id === stopped);
  const what = hung === undefined ? "ends the process" : `${hung} without end`;
  appendFileSync(out, `${JSON.stringify(once ? { id: stopped } : { id: stopped, caught: what })}\n`);
  return mutant !== undefined && !once;
}

async function worker(
  shared: Shared,
  out: string,
  ids: readonly number[],
  early: readonly number[],
): Promise<Finding[]> {
  while (ids.length > 0 && !(await child({ ...shared, out, ids: [...ids] })));
  for (const id of early) while (!(await child({ ...shared, out, ids: [id] }, id)));
  return readLines<Finding>(out).filter((f) => f.caught !== undefined);
}

export interface Options {
  /** The library of the copy has the mutants, its sources have none. */
  kernels?: boolean;
  /** Folders of tests. */
  folders: string[];
  /** The cases of fixtures too. */
  cases: boolean;
  seconds: number;
  jobs: number;
}

/** A verdict for each of the mutants numbered `ids` among `all`; the folder is a copy of the repository. */
export async function judgeAll(folder: string, all: Mutant[], ids: number[], options: Options): Promise<Verdict[]> {
  const { kernels = false } = options;
  if (!kernels) instrument(folder, all);
  collecting(folder);
  const place = (name: string) => join(folder, name);
  const shared = {
    root: folder,
    kernels,
    folders: options.folders,
    cases: options.cases,
    reach: place("reach"),
    seconds: options.seconds,
  };
  for (const name of readdirSync(folder).filter((n) => /^(reach|found|survey)/.test(n))) rmSync(place(name));
  await child({ ...shared, out: place("survey"), ids: [] });
  if (!existsSync(`${shared.reach}.json`)) throw new Error("the instrumented copy does not run");
  const { warm, cold } = JSON.parse(readFileSync(`${shared.reach}.json`, "utf8")) as Base;
  const [usual, early] = [new Set(warm), new Set(cold)];
  const share = (k: number, of: Set<number>) => ids.filter((id) => of.has(id)).filter((_, i) => i % options.jobs === k);
  const jobs = Array.from({ length: options.jobs }, (_, k) =>
    worker(shared, place(`found-${k}`), share(k, usual), share(k, early)),
  );
  const found = new Map((await Promise.all(jobs)).flat().map((f) => [f.id, f]));
  return ids.map((id) => {
    const f = found.get(id);
    return { ...(all[id] as Mutant), caught: f?.caught ?? null, reached: f?.reached ?? 0, ran: f?.ran ?? 0 };
  });
}
