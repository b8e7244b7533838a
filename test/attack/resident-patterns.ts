// What programs do with memory: sizes in bytes that come and go. Each pattern is a process of its own.
import { cpu, empty, matmul, ones, type Tensor } from "../../src/index.ts";

/** Looks at what is resident, from time to time. */
export type Look = () => void;
type Pattern = (look: Look) => unknown;

const KB = 1024;
const MB = 1024 * KB;

/** A tensor whose pages are all there. */
function filled(bytes: number): Tensor {
  const x = empty(Math.max(Math.ceil(bytes / 4), 1));
  x.fill_(1);
  return x;
}

/** Tensors of the sizes `size(i)`, of which `most` live at a time; `which` of them goes next. */
function churn(size: (i: number) => number, most: number, steps: number, which: (n: number) => number): Pattern {
  return (look) => {
    const live: Tensor[] = [];
    for (let i = 0; i < steps; i++) {
      live.push(filled(size(i)));
      if (live.length > most) (live.splice(which(live.length - 1), 1)[0] as Tensor).dispose();
      if (i % 50 === 0) look();
    }
    for (const x of live) x.dispose();
    look();
  };
}

/** One small tensor in so many stays for ever, in between what goes at once. */
function pinned(kept: number, size: (i: number) => number, between: number, steps: number): Pattern {
  return (look) => {
    const stays: Tensor[] = [];
    for (let i = 0; i < steps; i++) {
      stays.push(filled(kept));
      for (let k = 0; k < between; k++) filled(size(i * between + k)).dispose();
      if (i % 50 === 0) look();
    }
    look();
    return stays;
  };
}

/** As much as may be kept at most without a limit of one's own, given back before it begins. */
function afterFull(pattern: Pattern): Pattern {
  return (look) => {
    for (const x of Array.from({ length: 108 }, () => filled(10 * MB))) x.dispose();
    return pattern(look);
  };
}

/** Results that nobody disposes of. */
function collected(size: (i: number) => number, steps: number): Pattern {
  return (look) => {
    for (let i = 0; i < steps; i++) {
      filled(size(i)).add(1);
      if (i % 50 === 0) look();
    }
  };
}

const draw = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};
const random = draw(7);
const uniform = (least: number, most: number) => () => least + random() * (most - least);
const oldest = () => 0;
const newest = (n: number) => n - 1;
const any = (n: number) => Math.floor(random() * n);

/** Everything at once, half of it given back, and larger ones in its place. */
function halves(first: number, second: number, bytes: number): Pattern {
  return (look) => {
    const all = Array.from({ length: Math.floor(bytes / first) }, () => filled(first));
    look();
    const kept = all.filter((x, i) => i % 2 === 0 || (x.dispose(), false));
    look();
    const others = Array.from({ length: Math.floor(bytes / 2 / second) }, () => filled(second));
    look();
    for (const x of [...kept, ...others]) x.dispose();
    look();
  };
}

async function workers(look: Look): Promise<void> {
  const program = `${import.meta.dir}/resident-worker.ts`;
  const running = Array.from({ length: 3 }, () => new Worker(program));
  let left = running.length;
  await new Promise<void>((done) => {
    for (const worker of running) worker.onmessage = () => --left === 0 && done();
    const timer = setInterval(() => (look(), left === 0 && clearInterval(timer)), 5);
  });
  for (const worker of running) worker.terminate();
  look();
}

export const PATTERNS: Record<string, Pattern> = {
  "small, random": churn(uniform(600, 30 * KB), 2000, 20_000, any),
  "middle, random": churn(uniform(32 * KB, MB), 100, 2500, any),
  "large, random": churn(uniform(MB, 12 * MB), 12, 250, any),
  "all sizes": churn(() => 600 * 2 ** (random() * 13), 200, 5000, any),
  "growing, small": churn((i) => 600 + i, 500, 20_000, oldest),
  "growing, middle": churn((i) => 40 * KB + i * 500, 50, 1900, oldest),
  "growing, large": churn((i) => MB + i * 40 * KB, 6, 250, oldest),
  "shrinking, middle": churn((i) => MB - i * 500, 50, 1900, oldest),
  "shrinking, large": churn((i) => 12 * MB - i * 40 * KB, 6, 250, oldest),
  "a stack": churn(uniform(10 * KB, 400 * KB), 200, 4000, newest),
  "a sawtooth": churn((i) => 50 * KB + (i % 97) * 9 * KB, 60, 3000, oldest),
  "one small stays, large go": pinned(40 * KB, (i) => 800 * KB + (i % 8) * 4 * KB, 8, 400),
  "one small stays, large go, beside a full cache": afterFull(
    pinned(40 * KB, (i) => 800 * KB + (i % 8) * 4 * KB, 8, 400),
  ),
  "one stays of each size": pinned(600, uniform(600, MB), 4, 1000),
  "edges of 32 KiB": pinned(32 * KB - 64, () => 32 * KB + Math.floor(random() * 3) * 64, 10, 600),
  "edges of 1 MiB": churn(() => MB + Math.floor(random() * 5 - 2) * 512, 60, 1500, any),
  "edges of huge pages": churn(() => 2 * MB * (1 + Math.floor(random() * 3)) - 64 * any(3), 20, 500, any),
  "half of the small go, middle come": halves(20 * KB, 300 * KB, 150 * MB),
  "half of the middle go, large come": halves(200 * KB, 3 * MB, 200 * MB),
  "left to the collector, random": collected(uniform(40 * KB, 1.2 * MB), 2500),
  "left to the collector, growing": collected((i) => 100 * KB + i * 700, 2000),
  "work memory of products": (look) => {
    for (let n = 100; n < 900; n += 40) {
      using a = ones(n, n);
      matmul(a, a).dispose();
      look();
    }
  },
  workers,
};

/** Bytes: above the bound at most, above `memoryReserved` at most, and above what lives at the end. */
export interface Found {
  over: number;
  reserved: number;
  after: number;
  looks: number;
  live: number;
}

/** Runs one pattern: by how much resident memory was above its bound at most, and where it ends without the cache. */
export async function run(name: string): Promise<Found> {
  const limit = Number(process.env.ZENSOR_CACHE_LIMIT);
  filled(MB).dispose();
  Bun.gc(true);
  const base = process.memoryUsage.rss();
  let over = Number.NEGATIVE_INFINITY;
  let reserved = Number.NEGATIVE_INFINITY;
  let looks = 0;
  const kept = await PATTERNS[name]?.(() => {
    looks++;
    const rss = process.memoryUsage.rss() - base;
    over = Math.max(over, rss - 1.25 * (cpu.memoryAllocated() + limit));
    reserved = Math.max(reserved, rss - cpu.memoryReserved());
  });
  Bun.gc(true);
  cpu.emptyCache();
  const after = process.memoryUsage.rss() - base - 1.25 * cpu.memoryAllocated();
  return { over, reserved, after, looks, live: kept instanceof Array ? kept.length : 0 };
}

if (import.meta.main) console.log(JSON.stringify(await run(process.argv[2] as string)));
