// What wrong calls say, as people read it: recorded, and compared at every run. `ZENSOR_GOLDEN=write` before `bun test
// test/errors` records anew; read the difference as somebody who knows nothing of the library.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cuda, errors } from "../../src/index.ts";
import { rooms } from "./calls.ts";

const golden = join(import.meta.dir, "errors.golden");
const folder = mkdtempSync(join(tmpdir(), "zensor-errors-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The class, the text, and whether the first line of the stack is the caller's. */
async function told(call: (folder: string) => unknown): Promise<string> {
  try {
    await call(folder);
  } catch (error) {
    const { name, message, stack = "" } = error as Error;
    const first = stack.slice(stack.indexOf("\n    at ")).split("\n")[1] ?? "";
    const theirs = error instanceof errors.ZensorError || message.includes("is not a function");
    const place = first.includes(import.meta.dir) ? "" : `\n(begins at ${first.trim().replace(/ \(.*[\\/]/, " (")})`;
    return `${theirs ? name : `${name}, not one of the library's`}: ${message.replaceAll(folder, "FOLDER")}${place}`;
  }
  return "no error";
}

test("each says what it said when it was read", async () => {
  const lines = ["What wrong calls say (test/errors/errors.test.ts)."];
  for (const [room, calls] of Object.entries(rooms)) {
    // What is said where there is no GPU.
    if (room === "cuda" && cuda.isAvailable()) continue;
    lines.push("", `== ${room}`);
    for (const [name, call] of Object.entries(calls)) {
      lines.push("", `${name}`, (await told(call)).replaceAll(/^/gm, "  "));
    }
  }
  const text = `${lines.join("\n")}\n`;
  if (process.env.ZENSOR_GOLDEN === "write") writeFileSync(golden, text);
  const recorded = readFileSync(golden, "utf8");
  expect(text).toBe(cuda.isAvailable() ? recorded.replace(/\n== cuda\n[\s\S]*?(?=\n== )/, "") : recorded);
});

test("every call is refused, by an error of the library, whose stack begins at the caller's line", () => {
  const text = readFileSync(golden, "utf8");
  for (const bad of ["no error", "not one of the library's", "(begins at", "src/", "/home", "undefined is not"]) {
    expect(text).not.toContain(bad);
  }
  // Python's spelling of what is an option or a member here.
  expect(text.match(/(Specify retain_graph|\b(in|loading) state_dict|requires_grad=|keepdim=True|grad_fn)/g)).toBe(
    null,
  );
});
