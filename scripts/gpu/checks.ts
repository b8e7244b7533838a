// What has to be right on a device: golden cases, the documents' rows, and memory that is counted and given back.
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "../../src/index.ts";
import { OnDevice } from "../../test/conformance/on-device.ts";
import { isLate, type Part } from "./parts.ts";

const SETS = ["cases-small", "cases-oracle"];

export const conformance: Part = async (run) => {
  let wrong = 0;
  for (const name of SETS) {
    const folder = join(run.fixtures, name);
    if (!existsSync(folder)) continue;
    const tally = (await OnDevice.load(folder)).all(run.until);
    wrong += tally.wrong.length;
    run.results.record.conformance[name] = tally;
    run.results.write();
  }
  return wrong > 0 ? { state: "failed", note: `${wrong} cases are wrong` } : undefined;
};

const KIB = 1024;

/** Statistics of tensors of known sizes, to the byte: blocks of 512 bytes, from 10 MiB on of 2 MiB. */
function countedRight(): string[] {
  const wrong: string[] = [];
  const sizes = [1, 511, 512, 513, 5000, KIB ** 2, KIB ** 2 + 1, 9 * KIB ** 2, 10 * KIB ** 2, 21 * KIB ** 2 + 5];
  z.cuda.emptyCache();
  const before = z.cuda.memoryAllocated();
  let expected = before;
  const kept = sizes.map((n) => {
    const t = z.empty(n, { dtype: "uint8", device: "cuda" });
    const step = n >= 10 * KIB ** 2 ? 2 * KIB ** 2 : 512;
    expected += Math.ceil(n / step) * step;
    const now = z.cuda.memoryAllocated();
    if (now !== expected) wrong.push(`${n} bytes: ${now} are counted, not ${expected}`);
    return t;
  });
  for (const t of kept) t.dispose();
  const after = z.cuda.memoryAllocated();
  if (after !== before) wrong.push(`after all: ${after} bytes are counted, not ${before}`);
  return wrong;
}

/** One round of mixed work: results, views, writes, copies to the host and back, errors midway. */
function round(i: number, x: z.Tensor): void {
  const n = 1 + ((i * 7919) % 4096);
  const y = z.ones(n, { device: "cuda" });
  const sum = y.mul(2).add(y, { alpha: 0.5 });
  sum.at(`0:${Math.ceil(n / 2)}`).add_(1);
  const host = sum.cpu();
  if (host.at(n - 1).item() !== (n === 1 ? 3.5 : 2.5)) throw new Error(`round ${i}: wrong result ${host.at(n - 1)}`);
  const back = host.to("cuda").exp().to("float64");
  try {
    x.add(y.to("cpu"));
  } catch {
    // Operands on two devices: refused with nothing left behind.
  }
  for (const t of i % 3 === 0 ? [] : [y, sum, back]) t.dispose();
}

export const memory: Part = async (run) => {
  const checks = run.results.record.memory;
  // What is dead and not yet collected would be counted at some time in between.
  Bun.gc(true);
  checks["statistics to the byte"] = countedRight();
  const rounds = run.small ? 150 : 3000;
  const x = z.ones(1000, { device: "cuda" });
  const at: number[] = [];
  const resident: number[] = [];
  let done = 0;
  for (; done < rounds && !isLate(run); done++) {
    round(done, x);
    if ((done + 1) % (rounds / 6) !== 0) continue;
    Bun.gc(true);
    // What the collector calls for a word on the stack may keep a last result.
    await Bun.sleep(0);
    Bun.gc(true);
    at.push(z.cuda.memoryAllocated());
    resident.push(process.memoryUsage.rss());
    checks["rounds of mixed work"] = { rounds: done + 1, "bytes on the device": at, reserved: z.cuda.memoryReserved() };
    run.results.write();
  }
  x.dispose();
  const growth = Math.max(...at.slice(1)) - (at[0] ?? 0);
  const hostGrowth = (resident.at(-1) ?? 0) - (resident[1] ?? 0);
  checks["growth on the device, bytes"] = growth;
  checks["growth on the host, MiB"] = Math.round(hostGrowth / KIB ** 2);
  const wrong = [...(checks["statistics to the byte"] as string[])];
  // A few dead tensors of the last round may stay until the next collection.
  if (growth > 256 * KIB) wrong.push(`memory of the device grew by ${growth} bytes`);
  if (hostGrowth > 256 * KIB ** 2) wrong.push(`memory of the host grew by ${hostGrowth} bytes`);
  if (wrong.length > 0) return { state: "failed", note: wrong.join("; ") };
  return done < rounds ? { state: "out of time", note: `${done} of ${rounds} rounds` } : undefined;
};
