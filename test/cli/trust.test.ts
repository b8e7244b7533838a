// What commands read only when they are told to: links out of folders, and archives that become much.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { io, rand, zeros } from "../../src/index.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { program, zensor } from "./run.ts";

const room = temporaryDirectory();
afterAll(room.remove);

const td = () => new TensorDict({ a: zeros(100_000), n: new TensorDict({ b: zeros(3) }, []) }, []);

/** The commands that read, of one source. */
function commands(path: string): string[][] {
  const target = () => join(room.fresh(), "target");
  return [
    ["inspect", path],
    ["convert", path, target()],
    ["slice", path, target(), "--keys", "a"],
    ["merge", path, target()],
    ["merge", path, path, target(), "--stack"],
    ["diff", path, path],
    ["verify", path],
    ["verify", path, "--write-sums", target()],
  ];
}

/** Puts a file of a folder elsewhere, with a link to it. */
function linked(folder: string, name: string): string {
  const outside = join(room.fresh(), "outside");
  renameSync(join(folder, name), outside);
  symlinkSync(outside, join(folder, name));
  return folder;
}

const folders: Record<string, () => string> = {
  "a directory": () => {
    const path = join(room.fresh(), "saved");
    td().memmap(path);
    return linked(path, "a.memmap");
  },
  "a directory, by a link to a level": () => {
    const path = join(room.fresh(), "saved");
    td().memmap(path);
    return linked(path, "n");
  },
  "a snapshot": () => {
    const path = join(room.fresh(), "saved.snapshot");
    io.Snapshot.take({ path, appState: { state: new io.StateDict({ a: zeros(100_000) }) } });
    return linked(path, "0/state/a");
  },
};

describe.each(Object.entries(folders))("links out of %s", (_, make) => {
  const path = make();
  test.each(commands(path).map((command) => [command[0] as string, command] as const))("%s", async (name, command) => {
    const refused = await zensor(...command);
    // 1 says that two differ.
    expect(refused.code).toBe(name === "diff" ? 2 : 1);
    const text = refused.out + refused.err;
    if (name !== "verify") expect(text).toContain("is not followed. --follow-links does that");
    expect(text).not.toContain("followLinks");
    expect(await zensor(...command, "--follow-links")).toMatchObject({ code: 0, err: "" });
  });
});

const archives: Record<string, () => string> = {
  tdz: () => {
    const path = join(room.fresh(), "a.tdz");
    td().save(path, { compression: "deflate" });
    return path;
  },
  npz: () => {
    const path = join(room.fresh(), "a.npz");
    io.saveNpz(path, { a: zeros(100_000) }, { compressed: true });
    return path;
  },
};

describe.each(Object.entries(archives))("a compressed %s", (_, make) => {
  const path = make();
  test.each(commands(path).map((command) => [command[0] as string, command] as const))("%s", async (name, command) => {
    const refused = await zensor(...command, "--max-bytes", "100KB");
    expect(refused.code).toBe(name === "diff" ? 2 : 1);
    expect(refused.out + refused.err).toContain("more than 100000 are read only if --max-bytes says so");
    expect(await zensor(...command, "--max-bytes", "1MiB")).toMatchObject({ code: 0, err: "" });
  });

  test("no size", async () => {
    for (const size of ["much", "-1", "1 PB", ""]) {
      expect(await zensor("inspect", path, "--max-bytes", size)).toMatchObject({ code: 2 });
    }
  });
});

test("an .npz that says it becomes more than 1 GiB is refused before anything is inflated", async () => {
  const path = join(room.fresh(), "a.npz");
  io.saveNpz(path, { a: rand(1_000_000) }, { compressed: true });
  const bytes = readFileSync(path);
  const central = bytes.indexOf("PK\x01\x02");
  // Its header, which begins the file, has both sizes then.
  bytes.writeUInt32LE(bytes.readUInt32LE(central + 20), 18);
  for (const at of [22, central + 24]) bytes.writeUInt32LE(2 ** 31, at);
  writeFileSync(path, bytes);
  for (const more of [[], ["--write-sums", join(room.fresh(), "sums")]]) {
    const { code, out } = await zensor("verify", path, ...more);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/would become 2147483648: more than 1073741824 are read only/),
    ]);
  }
});

test("help names the options", async () => {
  for (const command of ["inspect", "convert", "slice", "merge", "diff", "verify"]) {
    const { out } = await program([command, "--help"], {});
    expect([command, out]).toEqual([command, expect.stringMatching(/--follow-links[\s\S]*--max-bytes <size>/)]);
  }
});
