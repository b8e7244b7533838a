/** Streams on which work goes to devices, and the events that order them, as users have them. */

import * as texts from "../../generated/texts.ts";
import type { Mark } from "../dispatch/staging.ts";
import { addressOf, native } from "../ffi/library.ts";
import { type Anchor, ownHandle } from "../ffi/memory.ts";
import { inOrder, installChecks } from "../tensor/checks.ts";
import { type Device, gpuOf } from "../tensor/device.ts";
import { RuntimeError, ValueError } from "../tensor/errors.ts";
import { type ModeGuard, requireSync } from "../tensor/modes.ts";
import { requireKept } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { type CudaDeviceLike, gpu, required } from "./devices.ts";
import { check } from "./driver.ts";
import { currentHandle, places } from "./places.ts";
import { CLASSES, EVENT, FUNCTIONS, RECORD_STREAM, STREAM } from "./signatures.ts";

declare module "../tensor/tensor.ts" {
  interface Tensor {
    /**
     * Tells the allocator that work on another stream uses this tensor: its memory serves again only after that.
     * @example
     * ```ts
     * if (cuda.isAvailable()) ones(1, { device: "cuda" }).recordStream(new cuda.Stream());
     * cuda.deviceCount() >= 0 // true
     * ```
     * @torch Tensor.record_stream
     */
    recordStream(stream: Stream): void;
  }
}

const numbers = new Float64Array(new ArrayBuffer(16));

/** The priorities of the streams that this thread was given. */
const given = new Map<number, number>();

const priorities = new Map<number, [number, number]>();

function prioritiesOf(index: number): [number, number] {
  let range = priorities.get(index);
  if (range === undefined) {
    check(native.zs_cuda_priorities(index, addressOf(numbers)), "cuda.Stream.priorityRange");
    range = [numbers[0] as number, numbers[1] as number];
    priorities.set(index, range);
  }
  return range;
}

/** What makes a stream object for a handle that is there. */
const KNOWN: unique symbol = Symbol("known");

/**
 * A queue of work on a device: what is on one stream runs in order, and beside what is on others. Streams of this class
 * do not wait for the default stream, nor it for them.
 * @example
 * ```ts
 * const s = cuda.isAvailable() ? new cuda.Stream() : null;
 * s === null || s.query() // true
 * ```
 * @torch torch.cuda.Stream
 */
export class Stream {
  /** Where its work is done. */
  readonly device: Device;
  /** The driver's handle, 0 for the default stream. */
  readonly cudaStream: number;
  /** The lower the number, the sooner its work begins. */
  readonly priority: number;

  constructor(device?: CudaDeviceLike | { device?: CudaDeviceLike; priority?: number } | null, priority?: number);
  constructor(...args: unknown[]) {
    if (args[0] === KNOWN) {
      [, this.device, this.cudaStream, this.priority] = args as [unknown, Device, number, number];
      return;
    }
    const [device, priority = 0] = inOrder<[CudaDeviceLike?, number?]>("Stream", STREAM, args);
    const index = required(device, "cuda.Stream");
    if (priority > 0) {
      const text = `Expected cuda stream priority to be less than or equal to 0, got ${priority}`;
      throw new RuntimeError(text, { op: "Stream" });
    }
    const [, greatest] = prioritiesOf(index);
    this.priority = Math.max(greatest, priority) + 0;
    this.device = gpu(index);
    check(native.zs_cuda_stream_create(index, this.priority, addressOf(numbers)), "cuda.Stream");
    this.cudaStream = numbers[0] as number;
    given.set(this.cudaStream, this.priority);
  }

  /**
   * The lowest and the highest priority of the current device's streams.
   * @example
   * ```ts
   * cuda.isAvailable() ? cuda.Stream.priorityRange()[0] : 0 // 0
   * ```
   * @torch torch.cuda.Stream.priority_range
   */
  static priorityRange(): [number, number] {
    inOrder("priorityRange", "", arguments);
    return [...prioritiesOf(required(null, "cuda.Stream.priorityRange"))];
  }

  /** Whether all its work is done. @torch torch.cuda.Stream.query */
  query(): boolean {
    return asked(native.zs_cuda_stream_query(indexIn(this), this.cudaStream), "cuda.Stream.query");
  }

  /** Waits until all its work is done. @torch torch.cuda.Stream.synchronize */
  synchronize(): void {
    check(native.zs_cuda_stream_wait(indexIn(this), this.cudaStream), "cuda.Stream.synchronize");
  }

  /** What it is given from now on waits for what another stream has been given. @torch torch.cuda.Stream.wait_stream */
  waitStream(stream: Stream): void {
    requireStream(stream, "waitStream");
    const code = native.zs_cuda_stream_order(indexIn(this), this.cudaStream, indexIn(stream), stream.cudaStream);
    check(code, "cuda.Stream.waitStream");
  }

  /** What it is given from now on waits for an event. @torch torch.cuda.Stream.wait_event */
  waitEvent(event: Event): void {
    requireEvent(event, "waitEvent");
    event._order(this);
  }

  /** Records an event, a new one without one, and returns it. @torch torch.cuda.Stream.record_event */
  recordEvent(event: Event = new Event()): Event {
    requireEvent(event, "recordEvent");
    event.record(this);
    return event;
  }

  /** Whether both are the same queue. */
  equals(other: unknown): boolean {
    return other instanceof Stream && other.device === this.device && other.cudaStream === this.cudaStream;
  }

  /** Python's text. */
  toString(): string {
    return `<torch.cuda.Stream device=${this.device} cuda_stream=0x${this.cudaStream.toString(16)}>`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(Stream.prototype, CLASSES.Stream);

const indexIn = (stream: Stream): number => stream.device.index as number;

function known(index: number, handle: number): Stream {
  const make = Stream as unknown as new (...args: unknown[]) => Stream;
  return new make(KNOWN, gpu(index), handle, given.get(handle) ?? 0);
}

function asked(code: number, op: string): boolean {
  if (code < 0) check(code, op);
  return code === 1;
}

function requireStream(stream: unknown, op: string, name = "stream"): asserts stream is Stream {
  if (!(stream instanceof Stream)) throw texts.wrongArgument(op, op, name, "cuda.Stream", typeName(stream));
}

function requireEvent(event: unknown, op: string, name = "event"): asserts event is Event {
  if (!(event instanceof Event)) throw texts.wrongArgument(op, op, name, "cuda.Event", typeName(event));
}

/**
 * The stream that work on a device goes to now.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.currentStream().cudaStream : 0 // 0
 * ```
 * @torch torch.cuda.current_stream
 */
export function currentStream(device?: CudaDeviceLike | null): Stream {
  [device] = inOrder<[CudaDeviceLike?]>("currentStream", FUNCTIONS.currentStream, arguments);
  const index = required(device, "cuda.currentStream");
  return known(index, currentHandle(index));
}

/**
 * The stream that work on a device goes to when no other one is chosen.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.defaultStream().equals(cuda.currentStream()) : true // true
 * ```
 * @torch torch.cuda.default_stream
 */
export function defaultStream(device?: CudaDeviceLike | null): Stream {
  [device] = inOrder<[CudaDeviceLike?]>("defaultStream", FUNCTIONS.defaultStream, arguments);
  return known(required(device, "cuda.defaultStream"), 0);
}

/**
 * Makes a stream the one that work on its device goes to. `stream` does so for a while.
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.setStream(cuda.defaultStream());
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.set_stream
 */
export function setStream(stream: Stream): void {
  [stream] = inOrder<[Stream]>("setStream", FUNCTIONS.setStream, arguments);
  requireStream(stream, "setStream");
  places.change(places.with(indexIn(stream), stream.cudaStream), "cuda.setStream");
}

/**
 * Lets work go to a stream, and makes its device the current one: until the block ends (`using _ = cuda.stream(s)`), or
 * while a function runs, whose result it returns. Null changes nothing.
 * @example
 * ```ts
 * const made = () => (cuda.isAvailable() ? ones(2, { device: "cuda" }).add(1).tolist() : [2, 2]);
 * cuda.isAvailable() ? cuda.stream(new cuda.Stream(), made) : made() // [2, 2]
 * ```
 * @torch torch.cuda.stream
 */
export function stream(which: Stream | null): ModeGuard;
export function stream<R>(which: Stream | null, body: () => R): R;
export function stream<R>(which: Stream | null, body?: () => R): ModeGuard | R {
  [which, body] = inOrder<[Stream | null, (() => R)?]>("stream", FUNCTIONS.stream, arguments);
  const name = "cuda.stream";
  if (which !== null) requireStream(which, "stream");
  const next = which === null ? places.now() : places.with(indexIn(which), which.cudaStream);
  if (body === undefined) return places.hold(next, name);
  requireSync(body, name);
  return places.run(next, name, body);
}

const BLOCKING = 1;
const NO_TIMING = 2;
const INTERPROCESS = 4;

/** How an event is made. */
export interface EventOptions {
  /** Whether times are taken; false by default. */
  enableTiming?: boolean;
  /** Whether the host sleeps while it waits; false by default. */
  blocking?: boolean;
  /** Whether other processes may be given it; false by default. */
  interprocess?: boolean;
}

let releaseEvent = 0;

/**
 * A mark in a stream: it is passed when all that the stream had been given before is done.
 * @example
 * ```ts
 * const mark = new cuda.Event({ enableTiming: true });
 * if (cuda.isAvailable()) mark.record();
 * mark.query() // true
 * ```
 * @torch torch.cuda.Event
 */
export class Event {
  private readonly flags: number;
  private readonly timed: boolean;
  #owner: Anchor = null;
  private handle = 0;
  private driverHandle = 0;
  private where: Device | null = null;

  constructor(options?: EventOptions);
  constructor(enableTiming?: boolean, blocking?: boolean, interprocess?: boolean);
  constructor(...args: unknown[]) {
    const given = inOrder<[boolean?, boolean?, boolean?]>("Event", EVENT, args);
    const [enableTiming = false, blocking = false, interprocess = false] = given;
    this.timed = enableTiming;
    this.flags = (enableTiming ? 0 : NO_TIMING) | (blocking ? BLOCKING : 0) | (interprocess ? INTERPROCESS : 0);
  }

  /** The driver's handle; 0 before it was recorded. */
  get cudaEvent(): number {
    return this.driverHandle;
  }
  /** The device of the stream that it was recorded on first. */
  get device(): Device | null {
    return this.where;
  }

  /** Marks what a stream has been given, by default the current one. @torch torch.cuda.Event.record */
  record(stream: Stream = currentStream()): void {
    requireStream(stream, "record");
    this._create(stream);
    if (this.where !== stream.device) {
      throw new RuntimeError(
        `Event device ${this.where?.index} does not match recording stream's device ${indexIn(stream)}.`,
        { op: "record" },
      );
    }
    check(native.zs_cuda_event_record(this.handle, stream.cudaStream), "cuda.Event.record");
  }

  /** @internal */
  _create(stream: Stream): void {
    if (this.handle !== 0) return;
    check(native.zs_cuda_event_create(indexIn(stream), this.flags, addressOf(numbers)), "cuda.Event.record");
    [this.handle, this.driverHandle] = numbers as unknown as [number, number];
    if (releaseEvent === 0) releaseEvent = native.zs_cuda_release_event_function();
    this.#owner = ownHandle(this.handle, releaseEvent);
    this.where = stream.device;
  }

  /** What a stream is given from now on waits for it, by default the current one. @torch torch.cuda.Event.wait */
  wait(stream: Stream = currentStream()): void {
    requireStream(stream, "wait");
    this._order(stream);
  }

  /** @internal */
  _order(stream: Stream): void {
    if (this.#owner === null) return;
    check(native.zs_cuda_event_wait(this.handle, indexIn(stream), stream.cudaStream), "cuda.Event.wait");
  }

  /** Whether it is passed; true before it was recorded. @torch torch.cuda.Event.query */
  query(): boolean {
    return this.#owner === null || asked(native.zs_cuda_event_query(this.handle), "cuda.Event.query");
  }

  /** Waits until it is passed. @torch torch.cuda.Event.synchronize */
  synchronize(): void {
    if (this.#owner !== null) check(native.zs_cuda_event_synchronize(this.handle), "cuda.Event.synchronize");
  }

  /** Milliseconds from this event to a later one; both must take times. @torch torch.cuda.Event.elapsed_time */
  elapsedTime(endEvent: Event): number {
    requireEvent(endEvent, "elapsedTime", "endEvent");
    if (!this.timed || !endEvent.timed) {
      throw new ValueError("Both events must be created with argument 'enable_timing=True'.", { op: "elapsedTime" });
    }
    if (this.#owner === null || endEvent.#owner === null) {
      throw new ValueError("Both events must be recorded before calculating elapsed time.", { op: "elapsedTime" });
    }
    if (!this.query() || !endEvent.query()) {
      throw new RuntimeError("Both events must be completed before calculating elapsed time.", { op: "elapsedTime" });
    }
    check(native.zs_cuda_event_elapsed(this.handle, endEvent.handle, addressOf(numbers)), "cuda.Event.elapsedTime");
    return numbers[0] as number;
  }

  /** Python's text. */
  toString(): string {
    return this.driverHandle === 0
      ? "<torch.cuda.Event uninitialized>"
      : `<torch.cuda.Event 0x${this.driverHandle.toString(16)}>`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(Event.prototype, CLASSES.Event);

/** Marks of what the current stream of a device was given; the host sleeps while it waits for one. */
export function markOn(device: Device): Mark {
  const event = new Event({ blocking: true });
  return { record: () => event.record(currentStream(device)), synchronize: () => event.synchronize() };
}

/** `Tensor.recordStream`. */
export function recordStreamMember(this: Tensor, stream: Stream): void {
  [stream] = inOrder<[Stream]>("recordStream", RECORD_STREAM, arguments);
  requireStream(stream, "recordStream");
  const { block, device } = this._storage;
  requireKept(this._storage);
  if (device.type === "cuda" && block !== 0) native.zs_cuda_record(block, gpuOf(stream.device), stream.cudaStream);
}
