// Runs the `@example` of every generated function and of every source, and the examples of docs/members: the text of
// the last expression is what the comment behind it says.
import { afterAll, afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as zensor from "../../src/index.ts";
import { rememberClasses } from "../../src/tensordict/core/class-registry.ts";
import { allExamples, root } from "./all-examples.ts";
import { startStore } from "./store.ts";

/** Examples are TypeScript. */
const typeless = new Bun.Transpiler({ loader: "ts", target: "bun", deadCodeElimination: false });

// Sloppy code, because `with` puts all names of the package in reach and eval gives the last expression's value.
const evaluate = new Function("names", "code", "with (names) return eval(code);") as (
  names: object,
  code: string,
) => unknown;

// The same with promises: statements, and the last line's value.
const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => typeof evaluate;
function evaluateLater(names: object, code: string): unknown {
  const at = code.trimEnd().lastIndexOf("\n") + 1;
  return new AsyncFunction("names", "code", `with (names) { ${code.slice(0, at)}\nreturn ${code.slice(at)} }`)(
    names,
    code,
  );
}

function shown(value: unknown): string {
  return Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype
    ? `[${value.map(shown).join(", ")}]`
    : String(value);
}

/** What the code sees: the package's names, and Bun's client for the store of the examples, `client`. */
const store = startStore();
afterAll(store.stop);
const names = { ...zensor, client: store.client };

// Each runs in a folder of its own, where there is a file of a format that nothing here writes.
const home = process.cwd();
let folder = "";
// Classes that examples define must not stand in for those of the same name in other tests.
let forget = () => {};
beforeEach(() => {
  forget = rememberClasses();
  folder = mkdtempSync(join(tmpdir(), "zensor-example-"));
  copyFileSync(join(root, "test", "fixtures", "gguf", "blocks.gguf"), join(folder, "model.gguf"));
  process.chdir(folder);
});
afterEach(() => {
  forget();
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

/** What an example gives; of one that gives nothing, what it prints. */
async function given(code: string): Promise<string> {
  const log = spyOn(console, "log").mockImplementation(() => {});
  try {
    code = typeless.transformSync(code);
    const value = /\bawait /.test(code) ? await evaluateLater(names, code) : evaluate(names, code);
    return value === undefined && log.mock.calls.length > 0 ? log.mock.calls.map(String).join("\n") : shown(value);
  } finally {
    log.mockRestore();
  }
}

/** HDF5 files need libhdf5, which not every machine has. */
const needsHdf5 = (code: string) => /Hdf5File|[tT]oH5|fromH5|Persistent/.test(code);
const withHdf5 = zensor.io.hdf5Engine() !== null;

const all = allExamples();
for (const { file, line, code, result } of all) {
  test.skipIf(!withHdf5 && needsHdf5(code))(`${file}:${line}: ${code}`, async () => {
    expect(await given(code)).toBe(result);
  });
}

test("there are examples", () => expect(all.length).toBeGreaterThan(200));
