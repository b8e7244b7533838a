/** Sees every call of an operator and keeps when it began, how long it took, and what it made. */
import { type Operator, type Taker, taking } from "../dispatch/seam.ts";
import type { Storage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";

/** Sizes of an argument: a tensor's, of each tensor of a list, none for anything else. */
export type ShapeOf = readonly (number | readonly number[])[];

/** One call. Times are in microseconds. */
export interface ProfilerEvent {
  /** torch's name, `aten::add_`, or that of `recordFunction`. */
  readonly name: string;
  /** Since the profile began. */
  readonly start: number;
  /** With the calls inside. */
  cpuTime: number;
  /** Without the calls inside. */
  selfCpuTime: number;
  /** Shapes of the arguments; null where they were not recorded. */
  readonly inputShapes: readonly ShapeOf[] | null;
  /** Bytes that the call's results hold and its arguments do not, with the calls inside. */
  cpuMemory: number;
  /** Bytes that it brought, without the operators it calls. */
  selfCpuMemory: number;
  /** The call that this one is inside of. */
  readonly parent: ProfilerEvent | null;
}

function shapeOf(value: unknown): ShapeOf {
  if (value instanceof Tensor) return value._shape;
  return Array.isArray(value) && value.some((t) => t instanceof Tensor) ? (value.map(shapeOf) as ShapeOf) : [];
}

function eachTensor(value: unknown, visit: (t: Tensor) => void): void {
  if (value instanceof Tensor) visit(value);
  else if (Array.isArray(value)) for (const item of value) eachTensor(item, visit);
}

export class Recorder implements Taker {
  /** The innermost profile that is being recorded. */
  static current: Recorder | null = null;
  readonly observes = true;
  readonly events: ProfilerEvent[] = [];
  private readonly origin = performance.now();
  private open: ProfilerEvent | null = null;

  constructor(
    private readonly shapes: boolean,
    private readonly memory: boolean,
  ) {}

  /** Runs what is profiled. */
  record<R>(body: () => R): R {
    const former = Recorder.current;
    Recorder.current = this;
    try {
      return taking(this, "profile", body);
    } finally {
      Recorder.current = former;
    }
  }

  take(operator: Operator, args: readonly unknown[], next: () => unknown): unknown {
    const known = operator.args.at(-1) === "out" ? args.slice(0, -1) : args;
    const held = new Set<Storage>();
    if (this.memory) eachTensor(args, (t) => held.add(t._storage));
    return this.during(`aten::${operator.name}`, this.shapes ? known.map(shapeOf) : null, next, held);
  }

  named<R>(name: string, body: () => R): R {
    return this.during(name, this.shapes ? [] : null, body, null);
  }

  private during<R>(name: string, inputShapes: readonly ShapeOf[] | null, body: () => R, held: Set<Storage> | null): R {
    const parent = this.open;
    const event: ProfilerEvent = {
      name,
      start: (performance.now() - this.origin) * 1000,
      cpuTime: 0,
      selfCpuTime: 0,
      inputShapes,
      cpuMemory: 0,
      selfCpuMemory: 0,
      parent,
    };
    this.events.push(event);
    this.open = event;
    try {
      const result = body();
      if (this.memory) event.cpuMemory = held === null ? event.cpuMemory : bytesBeyond(held, result);
      return result;
    } finally {
      this.open = parent;
      this.close(event);
    }
  }

  /** What a call took is not its caller's own. */
  private close(event: ProfilerEvent): void {
    event.cpuTime = (performance.now() - this.origin) * 1000 - event.start;
    event.selfCpuTime += event.cpuTime;
    event.selfCpuMemory += event.cpuMemory;
    const { parent } = event;
    if (parent === null) return;
    parent.selfCpuTime -= event.cpuTime;
    parent.selfCpuMemory -= event.cpuMemory;
  }
}

function bytesBeyond(held: Set<Storage>, result: unknown): number {
  let bytes = 0;
  eachTensor(result, ({ _storage }) => {
    if (held.has(_storage)) return;
    held.add(_storage);
    bytes += _storage.nbytes;
  });
  return bytes;
}
