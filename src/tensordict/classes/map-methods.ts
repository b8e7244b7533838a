// A function of chunks: here, or in Workers beside each other.

import { empty } from "../../../generated/functional.ts";
import { badThreadCount } from "../../../generated/texts.ts";
import { Generator } from "../../dispatch/generator.ts";
import { availableParallelism } from "../../runtime/node.ts";
import { NotImplementedError, TypeError, ValueError, warn } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Td } from "../core/state.ts";
import { Collection } from "../core/state.ts";
import type { Schema } from "../core/types.ts";
import { inWorkers, type Job, type MapModule, type Pool, workOf } from "../disk/map-pool.ts";
import { Wire } from "../disk/map-wire.ts";
import { type Cut, chunksOf, Gathered } from "../ops/mapping.ts";
import { requireBatchDim } from "../ops/shape.ts";
import type { TableMethods } from "./table-methods.ts";

/** What a function of chunks gives: null for nothing. */
export type Mapped = Td | Tensor | null | undefined | void;

/** A function of chunks, which may say what it knows of their keys. */
export type MapFunction<R> = { call(chunk: Td): R }["call"];

/** What results are together: null when there were none. */
export type Joined<R> = Extract<Awaited<R>, Td | Tensor> | (Awaited<R> extends Td | Tensor ? never : null);

interface PoolOptions {
  /** The batch dimension that is cut. */
  dim?: number;
  /** How many Workers; one for each processor by default. */
  numWorkers?: number | null;
  /** Elements of a chunk; 0: single elements, without the dimension. */
  chunksize?: number | null;
  /** How many chunks; as many as Workers by default. */
  numChunks?: number | null;
  /** Draws the seed of the Workers, each of which has the next. */
  generator?: Generator | null;
  /** Chunks after which a Worker makes room for a new one. */
  maxTasksPerChild?: number | null;
  /** Threads of operators in this process until it is done, in the Workers and here. */
  workerThreads?: number | null;
  /** Index each chunk when a Worker asks for it. */
  indexWithGenerator?: boolean;
  /** There is no bar: true is refused. */
  pbar?: boolean;
  /** Workers are threads that start afresh: null or `"spawn"`. */
  mpStartMethod?: string | null;
}

/** Options of `map`. */
export interface MapOptions extends PoolOptions {
  /** Receives the results. Workers write into it when it is in shared memory or mapped files. */
  out?: Td | null;
}

/** Options of `mapIter`. */
export interface MapIterOptions extends PoolOptions {
  /** Chunks of elements in a random order, which the generator draws. */
  shuffle?: boolean;
}

/** Arguments of `map` behind the function, for work in this thread. */
export type MapHereArguments =
  | [options: MapOptions & { numWorkers: 0 }]
  | [dim: number, numWorkers: 0, options?: MapOptions];
/** Arguments of `map` behind the function. */
export type MapArguments = [options?: MapOptions] | [dim: number, numWorkers?: number | null, options?: MapOptions];
/** Arguments of `mapIter` behind the function, for work in this thread. */
export type MapIterHereArguments =
  | [options: MapIterOptions & { numWorkers: 0 }]
  | [dim: number, numWorkers: 0, options?: MapIterOptions];
/** Arguments of `mapIter` behind the function. */
export type MapIterArguments =
  | [options?: MapIterOptions]
  | [dim: number, numWorkers?: number | null, options?: MapIterOptions];
type Args = [dim?: number, numWorkers?: number | null, options?: MapOptions & MapIterOptions];

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface MapMethods<in out S = Schema> extends TableMethods<S> {}

/** Collections in chunks. */
export abstract class MapMethods<in out S = Schema> extends Collection<S> {
  /**
   * Calls a function with chunks of a batch dimension, in Workers beside each other, and joins the results along that
   * dimension, in order: concatenated, or stacked when `chunksize` is 0. See the guide for what Workers get and share.
   * With `numWorkers: 0` the function runs here, and the result is given at once; otherwise as a promise.
   * @param fn `{ module, name }` of an export, or a function that uses nothing around it, since Workers get its text
   * @returns what the results are together, `out` if there is one, null when the function gave nothing
   * @throws IndexError for a dimension that is none of the batch
   * @throws ValueError for `chunksize` together with `numChunks`, and for what is no number of parts or Workers
   * @throws TypeError for results that are no collections and no tensors
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(6) }, [6]);
   * const half = td.map((chunk) => chunk.get("a").mul(10), { numWorkers: 0, numChunks: 2 });
   * half // tensor([ 0, 10, 20, 30, 40, 50])
   * ```
   * @torch TensorDict.map
   */
  map<R extends Mapped>(fn: MapFunction<R>, ...args: MapHereArguments): Joined<R>;
  map<R extends Mapped | Promise<Mapped>>(fn: MapFunction<R>, ...args: MapArguments): Promise<Joined<R>>;
  map<R extends Td | Tensor | null = Td>(fn: MapModule, ...args: MapArguments): Promise<R>;
  map(fn: MapFunction<unknown> | MapModule, ...args: unknown[]): unknown {
    const plan = planOf("map", this._td, fn, ...(args as Args));
    if (plan.pool === null) {
      for (const result of here(fn, plan.jobs)) plan.gathered.add(result);
      return plan.gathered.result();
    }
    return gather(inWorkers(plan.pool, plan.jobs), plan.gathered);
  }
  /**
   * Like `map`, and gives the results one by one, in the order of the chunks, whatever they are: an asynchronous
   * generator, or with `numWorkers: 0` one that calls the function when the next result is asked for. Workers are ahead
   * by two chunks each, and end with the loop.
   * @throws IndexError for a dimension that is none of the batch
   * @throws ValueError for `chunksize` together with `numChunks`, and for what is no number of parts or Workers
   * @throws RuntimeError for `shuffle` without `indexWithGenerator`
   * @example
   * ```ts
   * const td = new TensorDict({ a: arange(4) }, [4]);
   * const sums = td.mapIter((chunk) => chunk.get("a").sum().item(), { numWorkers: 0, chunksize: 2 });
   * [...sums] // [1, 5]
   * ```
   * @torch TensorDict.map_iter
   */
  mapIter<R>(fn: MapFunction<R>, ...args: MapIterHereArguments): globalThis.Generator<R, void, undefined>;
  mapIter<R>(fn: MapFunction<R>, ...args: MapIterArguments): AsyncGenerator<Awaited<R>, void, undefined>;
  mapIter<R = Td>(fn: MapModule, ...args: MapIterArguments): AsyncGenerator<R, void, undefined>;
  mapIter(fn: MapFunction<unknown> | MapModule, ...args: unknown[]): unknown {
    const { pool, jobs } = planOf("mapIter", this._td, fn, ...(args as Args));
    return pool === null ? here(fn, jobs) : inWorkers(pool, jobs);
  }
}

interface Plan {
  /** Null for work in this thread. */
  pool: Pool | null;
  jobs: Iterator<Job>;
  gathered: Gathered;
}

function planOf(
  op: "map" | "mapIter",
  td: Td,
  fn: MapFunction<unknown> | MapModule,
  dim = 0,
  numWorkers: number | null = null,
  options: MapOptions & MapIterOptions = {},
): Plan {
  const workers = numWorkers ?? availableParallelism();
  if (workers < 0) throw new ValueError("Number of processes must be at least 1");
  requireOptions(options);
  const work = workers === 0 ? null : workOf(fn as MapModule);
  if (workers === 0 && typeof fn !== "function") {
    throw new TypeError("with numWorkers 0 the function runs here: import it, and give the function itself");
  }
  const at = requireBatchDim(td, dim);
  const { chunksize = null, numChunks = null, out = null, generator = null } = options;
  const cut: Cut = {
    dim: at,
    chunksize,
    numChunks,
    late: options.indexWithGenerator ?? op === "mapIter",
    shuffled: options.shuffle === true ? { generator } : null,
  };
  const direct = out !== null && work !== null && new Wire(true).sendTarget(out) !== null;
  const parts = Math.max(workers, 1);
  const chunks = chunksOf(td, cut, parts);
  const targets = direct ? chunksOf(out as Td, cut, parts) : null;
  const jobs = jobsOf(td, chunks, targets);
  const gathered = new Gathered(at, chunksize === 0, out);
  if (work === null) return { pool: null, jobs, gathered };
  const { maxTasksPerChild: tasksEach = null, workerThreads: threads = null } = options;
  const ahead = op === "map" ? Number.POSITIVE_INFINITY : 2 * workers;
  return { pool: { work, workers, tasksEach, threads, seed: baseSeed(op, generator), ahead }, jobs, gathered };
}

function requireOptions(options: PoolOptions): void {
  const { maxTasksPerChild = null, workerThreads = null, mpStartMethod = null } = options;
  if (maxTasksPerChild !== null && maxTasksPerChild < 1) {
    throw new ValueError("maxtasksperchild must be a positive int or None");
  }
  if (workerThreads !== null && workerThreads < 1) throw badThreadCount("setNumThreads", workerThreads);
  if (options.pbar === true) {
    throw new NotImplementedError("pbar: there is no bar of progress here; count the results of mapIter");
  }
  if (mpStartMethod === "fork" || mpStartMethod === "forkserver") {
    throw new ValueError(`mpStartMethod '${mpStartMethod}': Workers are threads that start afresh, as with 'spawn'`);
  }
  if (mpStartMethod !== null && mpStartMethod !== "spawn") {
    throw new ValueError(`cannot find context for '${mpStartMethod}'`);
  }
}

/** The seed of the first Worker. */
function baseSeed(op: string, generator: Generator | null): bigint {
  if (generator === null) {
    warn(
      `${op}() got no generator and draws the base seed of its workers from a new Generator, so every call seeds ` +
        "them alike. Pass generator=defaultGenerator to draw it from the default one, which advances that, or " +
        "generator=new Generator() to keep the current seeds.",
      "FutureWarning",
    );
  }
  return empty([], { dtype: "int64" })
    .random_({ generator: generator ?? new Generator() })
    .bigint();
}

function* jobsOf(td: Td, chunks: Iterator<Td>, targets: Iterator<Td> | null): globalThis.Generator<Job> {
  for (let next = chunks.next(); next.done !== true; next = chunks.next()) {
    const target = targets?.next();
    if (target?.done === true) throw new ValueError("out has fewer chunks than there are results");
    // What is kept in a file of HDF5 is read here: others cannot.
    const chunk = td._outside === undefined ? next.value : next.value.toTensordict();
    yield { chunk, out: target === undefined ? null : target.value };
  }
}

/** Calls the function in this thread. */
function* here(fn: MapFunction<unknown> | MapModule, jobs: Iterator<Job>): globalThis.Generator<unknown> {
  for (let next = jobs.next(); next.done !== true; next = jobs.next()) {
    yield (fn as MapFunction<unknown>)(next.value.chunk);
  }
}

async function gather(results: AsyncIterable<unknown>, gathered: Gathered): Promise<unknown> {
  for await (const result of results) gathered.add(result);
  return gathered.result();
}
