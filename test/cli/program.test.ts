// What only a program of its own shows: signals, names that are no UTF-8, colours on a terminal and elsewhere.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { io, ones, TensorDict, zeros } from "../../src/index.ts";
import { program, started } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-program-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);
const MAIN = join(import.meta.dir, "..", "..", "src", "cli", "main.ts");

describe("signals", () => {
  const folder = join(dir, "signals");
  mkdirSync(folder);
  const temporary = join(dir, "temporary");
  mkdirSync(temporary);
  const source = join(folder, "source");
  // 1 GiB of zeros that take no room on the disk.
  const wide = zeros([1]).expand(2 ** 22, 4);
  new TensorDict(Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`t${i}`, wide])), []).memmapLike(source);
  const commands: Record<string, string[]> = {
    convert: ["convert", source, join(folder, "out.tdz")],
    cast: ["cast", source, join(folder, "out.tdz"), "--dtype", "float64"],
    merge: ["merge", "--stack", source, source, join(folder, "out.safetensors")],
    rename: ["rename", source, join(folder, "out.tdz"), "--prefix", "=x."],
    stats: ["stats", source],
    verify: ["verify", source, "--write-sums", join(folder, "sums.json")],
    bench: ["bench", folder, "--size", "200MB"],
  };
  const codes = { SIGTERM: 143, SIGHUP: 129, SIGINT: 130 } as const;
  for (const [name, args] of Object.entries(commands)) {
    test.each(Object.entries(codes))(
      `${name}, %s`,
      async (signal, code) => {
        const before = readdirSync(folder).sort();
        const child = started(args, { TMPDIR: temporary });
        const writes = !["stats", "verify"].includes(name);
        const begun = () => readdirSync(folder).length > before.length;
        // A command that writes nothing yet has only begun.
        for (let i = 0; i < (writes ? 2000 : 60) && !(writes && begun()) && child.exitCode === null; i++)
          await Bun.sleep(10);
        child.kill(signal as "SIGTERM");
        await child.exited;
        // What writes nothing is ended by the signal itself.
        expect<unknown>(child.signalCode ?? child.exitCode).toBe(writes ? code : signal);
        const told = await new Response(child.stderr).text();
        if (writes) expect(told).toMatch(/^(interrupted|terminated|hung up); nothing was changed\n$/);
        expect(readdirSync(folder).sort()).toEqual(before);
        expect(readdirSync(temporary)).toEqual([]);
      },
      60_000,
    );
  }
});

describe.skipIf(process.platform !== "linux")("names that are no UTF-8", () => {
  const folder = join(dir, "bytes");
  mkdirSync(folder);
  const bytes = (name: string) => Buffer.from(`${folder}/${name}`, "latin1");
  io.saveNpy(join(folder, "plain.npy"), ones(3));
  const file = readFileSync(join(folder, "plain.npy"));
  for (const name of ["caf\xe9.npy", "\xff\xfe.npy", "\xc3.npy", "a\xed\xa0\x80.npy", "\xe9\xc3\xa9.npy"]) {
    writeFileSync(bytes(name), file);
  }
  mkdirSync(bytes("dir\xff"));
  writeFileSync(bytes("dir\xff/in.npy"), file);
  const shell = async (script: string, cwd: string | Buffer = folder) => {
    const child = Bun.spawn(["bash", "-c", `z() { "${process.execPath}" "${MAIN}" "$@"; }; ${script}`], {
      cwd: cwd as string,
      env: { ...process.env, NO_COLOR: "1", TMPDIR: dir, LC_ALL: "C.UTF-8" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, out, err };
  };
  test.each(["caf\\xe9", "\\xff\\xfe", "\\xc3", "a\\xed\\xa0\\x80", "\\xe9\\xc3\\xa9"])(
    "%s is read",
    async (name) => {
      expect(await shell(`z inspect $'${name}.npy'`)).toMatchObject({ code: 0, err: "" });
      expect(await shell(`z diff $'${name}.npy' plain.npy`)).toMatchObject({ code: 0, out: "", err: "" });
      expect(await shell(`z verify $'${name}.npy'`)).toMatchObject({ code: 0, err: "" });
      expect(await shell(`z inspect $'${folder}/${name}.npy'`)).toMatchObject({ code: 0, err: "" });
      expect((await shell(`z inspect $'${name}.nothing'`)).err).toContain("does not exist");
    },
    30_000,
  );
  test("a name that is missing is told as it was said", async () => {
    const { code, err } = await shell("z inspect $'no\\xe9.npy'");
    expect([code, err]).toEqual([1, "error: no\\xe9.npy does not exist.\n"]);
  });
  test("targets in folders that have such names", async () => {
    expect(await shell("z convert plain.npy $'dir\\xff/out.npz'")).toMatchObject({ code: 0, err: "" });
    expect(await shell("z diff $'dir\\xff/out.npz' plain.npy")).toMatchObject({ code: 0 });
    expect((await shell("z convert plain.npy $'dir\\xff/out.npz'")).err).toContain("exists already");
    expect(await shell("z convert plain.npy $'dir\\xff/out.npz' --force")).toMatchObject({ code: 0, err: "" });
    expect(await shell("z convert plain.npy $'out\\xff.npz'")).toMatchObject({ code: 2 });
  }, 30_000);
  test("a working directory that has such a name", async () => {
    const here = "cd $'dir\\xff' &&";
    expect(await shell(`${here} z inspect in.npy`)).toMatchObject({ code: 0, err: "" });
    expect(await shell(`${here} z convert in.npy made.npz && z verify made.npz`)).toMatchObject({ code: 0, err: "" });
    expect((await shell(`${here} z inspect nothing.npy`)).err).toBe("error: nothing.npy does not exist.\n");
  }, 30_000);
  test("in trees, checks and folders that would be replaced", async () => {
    expect((await shell("z tree .")).out).toContain("    caf\\xe9.npy\n");
    const made = join(folder, "made");
    new TensorDict({ a: ones(2) }).memmap(made);
    writeFileSync(Buffer.from(`${made}/thesis\xe9`, "latin1"), "mine");
    expect((await shell("z verify made")).out).toContain("thesis\\xe9: belongs to nothing");
    const { code, err } = await shell("z convert plain.npy made --to memmap --force");
    expect([code, err]).toEqual([1, expect.stringContaining("holds thesis\\xe9, which is no part of it")]);
    expect(readFileSync(Buffer.from(`${made}/thesis\xe9`, "latin1"), "utf8")).toBe("mine");
  }, 30_000);
  test("nothing stays among the temporary files", () => {
    expect(readdirSync(dir).filter((name) => name.startsWith("zensor.tmp"))).toEqual([]);
  });
});

describe("colours", () => {
  const [one, two] = [join(dir, "one.npz"), join(dir, "two.npz")];
  io.saveNpz(one, { a: ones(1), b: ones(1) });
  io.saveNpz(two, { a: ones(1) });
  const RED = "\u001b[31m";
  const has = async (args: string[], env: Record<string, string>) => {
    const clean = { NO_COLOR: "", FORCE_COLOR: undefined as unknown as string, TERM: "xterm" };
    return (await program(["diff", one, two, ...args], { ...clean, ...env })).out.includes(RED);
  };
  test("none where nobody looks, unless they are wanted", async () => {
    expect(await has([], {})).toBe(false);
    expect(await has([], { FORCE_COLOR: "1" })).toBe(true);
    expect(await has([], { FORCE_COLOR: "0" })).toBe(false);
    expect(await has(["--color", "always"], { NO_COLOR: "1" })).toBe(true);
    expect(await has(["--color", "never"], { FORCE_COLOR: "1" })).toBe(false);
  }, 30_000);
  test.skipIf(Bun.which("script") === null)(
    "on a terminal, unless NO_COLOR says no",
    () => {
      const onTerminal = (env: Record<string, string>) => {
        const command = `"${process.execPath}" "${MAIN}" diff "${one}" "${two}"`;
        const { NO_COLOR: _, FORCE_COLOR: __, ...rest } = process.env;
        const done = Bun.spawnSync(["script", "-qec", command, "/dev/null"], {
          env: { ...rest, TERM: "xterm", ...env },
        });
        return done.stdout.toString().includes(RED);
      };
      expect([onTerminal({}), onTerminal({ NO_COLOR: "1" }), onTerminal({ TERM: "dumb" })]).toEqual([
        true,
        false,
        false,
      ]);
    },
    30_000,
  );
});
