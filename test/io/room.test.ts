// What a disk has no room for is refused before the first byte, in every format: the sum over all tensors counts.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { takenBy } from "../../src/io/disk/room.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

test.skipIf(process.platform === "win32")(
  "tensors without end",
  async () => {
    const folder = room.fresh();
    mkdirSync(folder, { recursive: true });
    const words = [process.execPath, join(import.meta.dir, "room-program.ts"), folder];
    const child = Bun.spawn(["bash", "-c", 'ulimit -f 100000; exec "$@"', "bash", ...words], {
      stdout: "pipe",
      stderr: "pipe",
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    const [out, told] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, told]).toEqual([0, ""]);
    const lines = out.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(60);
    expect(lines.filter((line) => !/: ENOSPC, left: ?$/.test(line))).toEqual([]);
  },
  90_000,
);

test("only regular files have blocks", () => {
  expect([takenBy(join(room.path, "nothing")), takenBy(room.path)]).toEqual([0, 0]);
  expect(takenBy(import.meta.path)).toBeGreaterThan(0);
});
