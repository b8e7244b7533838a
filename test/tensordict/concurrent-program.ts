// One of several writers of concurrent.test.ts, as a Worker or as a child process: saves to one place again and again,
// and looks whether what it gets back is what it wrote.
import "../../src/install.ts";
import { runSteps } from "../../src/io/base/steps.ts";
import { AtomicDirectory } from "../../src/io/disk/atomic-directory.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { appendMemmap, TensorDict } from "../../src/tensordict/index.ts";

export interface Order {
  way: string;
  path: string;
  /** What each of its elements holds. */
  value: number;
  rounds: number;
}

const COLUMNS = 300;

export function rowsOf(value: number, rows: number): Td {
  const level = new TensorDict({ b: zeros([rows]).add(value) }, [rows]);
  return new TensorDict({ a: zeros([rows, COLUMNS]).add(value), n: level }, [rows]) as unknown as Td;
}

const WAYS: Record<string, (td: Td, path: string) => Td | Promise<Td>> = {
  memmap: (td, path) => td.memmap(path) as Td,
  memmapAsync: async (td, path) => (await td.memmapAsync(path)) as Td,
  "memmap, atomic": (td, path) => td.memmap(path, { atomic: true }) as Td,
  "memmap, names not exchanged": (td, path) => {
    const made = new AtomicDirectory(path, { exchange: () => false });
    made.begin();
    const saved = td.memmap(made.path);
    runSteps(made.commit());
    return saved as Td;
  },
  "memmap_, atomic": (td, path) => td.memmap_(path, { atomic: true }) as Td,
  "memmapAsync, atomic": async (td, path) => (await td.memmapAsync(path, { atomic: true })) as Td,
  "save to an archive": (td, path) => td.save(`${path}.tdz`) as Td,
  "saveAsync to an archive": async (td, path) => (await td.saveAsync(`${path}.tdz`)) as Td,
  consolidate: (td, path) => td.consolidate({ filename: path }) as Td,
  toH5: (td, path) => td.toH5(path) as unknown as Td,
  toH5Async: async (td, path) => (await td.toH5Async(path)) as unknown as Td,
  consolidateAsync: async (td, path) => (await td.consolidateAsync({ filename: path })) as Td,
};

/** What is wrong with a collection that should hold one value, in so many rows. */
function problem(td: Td, value: number, rows: number, bytes: boolean): string | null {
  const [a, b] = [td.get("a") as Tensor, td.get(["n", "b"]) as Tensor];
  if (a.shape[0] !== rows || b.shape[0] !== rows) return `${a.shape} and ${b.shape} instead of ${rows} rows`;
  if (bytes && (a.ne(value).any().item() || b.ne(value).any().item())) return `another value than ${value}`;
  return null;
}

async function work({ way, path, value, rounds }: Order): Promise<string[]> {
  const problems: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const rows = 1 + ((7 * round + 3 * value) % 5);
    try {
      const td = rowsOf(value, rows);
      if (way === "appendMemmap") appendMemmap(path, td);
      else {
        const saved = await (WAYS[way] as (td: Td, path: string) => Td | Promise<Td>)(td, path);
        // What is written over in place, as Python does it, shows in all mappings.
        const found = problem(saved, value, rows, way !== "memmap");
        if (found !== null) problems.push(found);
        if (way.startsWith("toH5")) (saved as unknown as { close(): void }).close();
      }
    } catch (error) {
      problems.push(String(error));
    }
  }
  return problems;
}

if (process.send) process.on("message", async (order) => process.send?.(await work(order as unknown as Order)));
else if (!Bun.isMainThread) {
  const scope = globalThis as unknown as { onmessage: unknown; postMessage(answer: unknown): void };
  scope.onmessage = async ({ data }: { data: Order }) => scope.postMessage(await work(data));
}
