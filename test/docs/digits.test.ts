// examples/digits.ts learns what the same program learns in PyTorch, and ends with the accuracy that it promises.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import recorded from "../fixtures/examples/digits-losses.json";

const root = join(import.meta.dir, "..", "..");
const examples = join(root, "examples");

async function run(words: string[], cwd: string): Promise<string> {
  const child = Bun.spawn([process.execPath, ...words], { cwd, stdout: "pipe", stderr: "pipe" });
  const [text, told] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, told.includes("error")]).toEqual([0, false]);
  return text;
}

test("the first 200 losses are PyTorch's", async () => {
  const program = `
    import { digits } from "${examples}/digits/data.ts";
    import { trained } from "${examples}/digits/train.ts";
    const { train } = await digits();
    const losses = [];
    try {
      trained(train, 15, (loss) => { losses.push(loss); if (losses.length === 200) throw "enough"; });
    } catch (e) { if (e !== "enough") throw e; }
    console.log(JSON.stringify(losses));
  `;
  const losses = JSON.parse(await run(["-e", program], root)) as number[];
  expect(losses).toHaveLength(200);
  const apart = losses.map((x, i) => Math.abs(x - (recorded[i] as number)));
  expect(Math.max(...apart)).toBeLessThan(1e-4);
}, 120_000);

test("it ends with an accuracy of at least 98 %, and two pictures", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zensor-digits-"));
  try {
    const text = await run([join(examples, "digits.ts")], folder);
    const [, accuracy] = /^test accuracy: (\d+\.\d) %$/m.exec(text) as RegExpExecArray;
    expect(Number(accuracy)).toBeGreaterThanOrEqual(98);
    for (const name of ["digits-loss.svg", "digits-wrong.svg"]) {
      expect(await Bun.file(join(folder, name)).text()).toMatch(/^<svg .*<\/svg>\n$/s);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
