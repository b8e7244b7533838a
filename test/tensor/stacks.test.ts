// Stacks of errors begin at the line that called the library, whatever way it was called; what it does is left out.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  arange,
  errors,
  func,
  io,
  loadAsync,
  nn,
  ones,
  type Tensor,
  TensorDict,
  tensor,
  zeros,
} from "../../src/index.ts";

/** The first line of the stack of what a call throws. */
async function firstLine(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    const { message, stack = "" } = error as Error;
    expect(error).toBeInstanceOf(errors.ZensorError);
    expect(stack.startsWith(`${(error as Error).name}: ${message}\n`)).toBe(true);
    return stack.slice(stack.indexOf("\n    at ")).split("\n")[1] as string;
  }
  throw new Error("nothing was thrown");
}

const calls: Record<string, () => unknown> = {
  method: () => zeros(2).add(zeros(3)),
  function: () => nn.functional.softmax(zeros(2), 3),
  index: () => zeros(2).at(5),
  constructor: () => new TensorDict({ a: zeros(2) }, [3]),
  module: () => new nn.Sequential(new nn.Linear(2, 3), new nn.Linear(3, 1))(zeros(4)),
  getter: () => zeros(2).length && zeros().length,
  iteration: () => [...zeros()],
  "callback of a TensorDict": () => new TensorDict({ a: zeros(2) }, [2]).apply((x: Tensor) => x.add(zeros(3))),
  "callback of vmap": () => func.vmap((x: Tensor) => x.add(zeros(5)))(zeros(2, 3)),
  "vmap in grad": () =>
    func.grad((x: Tensor) =>
      func
        .vmap((y: Tensor) => y.matmul(ones(9)))(x)
        .sum(),
    )(ones(2, 3)),
  backward: () => zeros(2).backward(),
  file: () => io.loadNpy("/nothing/here.npy"),
  "file in the background": async () => await loadAsync("/nothing/here.pt"),
  "of an own class": () => {
    throw new errors.ValueError("several\nlines");
  },
  "map of an array": () => [1].map((n) => arange(2).at(n + 5)),
  "deep in the program": () => {
    const down = (n: number): Tensor => (n === 0 ? tensor([1]).view(2) : down(n - 1));
    return down(100);
  },
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name}: the first line is the caller's`, async () => {
    expect(await firstLine(call)).toContain(`(${import.meta.path}:`);
  });
}

test("no more lines than programs ask for, none where they want none", () => {
  const before = Error.stackTraceLimit;
  const stackAt = (limit: number) => {
    Error.stackTraceLimit = limit;
    try {
      zeros(2).add(zeros(3));
    } catch (error) {
      return (error as Error).stack?.split("\n").length;
    } finally {
      Error.stackTraceLimit = before;
    }
    return 0;
  };
  expect([stackAt(0), stackAt(1)]).toEqual([1, 2]);
  expect(stackAt(100)).toBeGreaterThan(2);
  expect(Error.stackTraceLimit).toBe(before);
});

test("stacks that the program makes by itself, and errors that it has frozen", () => {
  const own = Error as { prepareStackTrace?: unknown };
  const before = [own.prepareStackTrace, Object.getOwnPropertyDescriptor(Error, "stackTraceLimit")] as const;
  const thrown = (run: () => unknown): Error => {
    try {
      run();
    } catch (error) {
      return error as Error;
    }
    throw new Error("nothing was thrown");
  };
  const failing = () => zeros(2).reshape(5);
  try {
    own.prepareStackTrace = (_: Error, sites: unknown[]) => `mine: ${sites.length > 0}`;
    expect(thrown(failing)).toMatchObject({ name: "RuntimeError", stack: "mine: true" });
    own.prepareStackTrace = (_: Error, sites: unknown[]) => sites;
    expect(Array.isArray(thrown(failing).stack)).toBe(true);
    own.prepareStackTrace = before[0];
    Object.defineProperty(Error, "stackTraceLimit", { value: 2, writable: false, configurable: true });
    const deep = (n: number): unknown => (n === 0 ? failing() : deep(n - 1));
    expect(thrown(() => deep(3)).message).toContain("shape '[5]' is invalid");
  } finally {
    own.prepareStackTrace = before[0];
    Object.defineProperty(Error, "stackTraceLimit", before[1] as PropertyDescriptor);
  }
});

const folder = mkdtempSync(join(tmpdir(), "zensor-stacks-"));
afterAll(() => rmSync(folder, { recursive: true }));

function run(env: Record<string, string>): string {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  rmSync(join(folder, "node_modules", "zensor"), { force: true });
  symlinkSync(join(import.meta.dir, "..", ".."), join(folder, "node_modules", "zensor"));
  const file = join(folder, "program.ts");
  writeFileSync(file, 'import { zeros } from "zensor";\n\nzeros(2).add(zeros(3));\n');
  const { stderr } = Bun.spawnSync([process.execPath, file], { env: { ...process.env, ...env }, cwd: folder });
  return stderr.toString();
}

test("an error that nobody catches shows the program's own line", () => {
  const text = run({});
  expect(text).toContain("3 | zeros(2).add(zeros(3));");
  expect(text).toMatch(/\n {6}at .*program\.ts:3:10/);
  expect(text).not.toMatch(/texts\.ts|allocate|zensor\.js|sourcemap/);
});

test("ZENSOR_STACK=full shows the library's lines as well", () => {
  expect(run({ ZENSOR_STACK: "full" })).toContain("broadcastShapes");
});
