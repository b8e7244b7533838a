/** The current device, and the stream on which work goes to each device. */
import { streams as autogradStreams } from "../autograd/node.ts";
import { native } from "../ffi/library.ts";
import { chosen } from "../tensor/device.ts";
import { Mode } from "../tensor/modes.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { check } from "./driver.ts";

/** The stream of each device by its handle, where another than the default one was chosen. */
type Handles = readonly (number | undefined)[];

/** Where work goes. */
export interface Places {
  readonly device: number;
  /** Null for the default streams alone. */
  readonly handles: Handles | null;
}

let handles: Handles | null = null;

function now(): Places {
  return { device: chosen.cuda, handles };
}

function use(next: Places): void {
  chosen.cuda = next.device;
  handles = next.handles;
  autogradStreams.current = handles;
  if (handles !== null) autogradStreams.used = true;
}

/** The current device and streams, and what changes them for a while. */
class PlacesMode extends Mode<Places> {
  now(): Places {
    return now();
  }
  /** Another stream on a device, which becomes the current one. */
  with(device: number, stream: number): Places {
    const next = handles === null ? [] : [...handles];
    next[device] = stream;
    return { device, handles: next.some((h) => (h ?? 0) !== 0) ? next : null };
  }
}

export const places: PlacesMode = new PlacesMode(now, use);

/** Runs parts of work on the device and streams that are current now, whatever the program has chosen by then. */
export function onPlacesOfNow(): <R>(part: () => R) => R {
  const then = now();
  return (part) => onPlaces(then, part);
}

/** Runs a part of work on a device and streams. */
export function onPlaces<R>(then: Places, part: () => R): R {
  return places.run(then, "stream", part);
}

/** The handle of the current stream of a device: 0 for its default one. */
export function currentHandle(index: number): number {
  return handles === null ? 0 : (handles[index] ?? 0);
}

const handleIn = (of: object | null, index: number): number => (of === null ? 0 : ((of as Handles)[index] ?? 0));

/** Tells autograd of streams: each step runs on those that its operator ran on. */
export function installStreamHooks(): void {
  Object.assign(autogradStreams, {
    enter(to: object | null) {
      handles = to as Handles | null;
      autogradStreams.current = to;
    },
    handOver(grad: Tensor, from: object | null, to: object | null) {
      const { device, block } = grad._storage;
      if (from === to || device.type !== "cuda" || device.index === null) return;
      const [a, b] = [handleIn(from, device.index), handleIn(to, device.index)];
      if (a === b) return;
      check(native.zs_cuda_stream_order(device.index, b, device.index, a), "backward");
      if (block !== 0) native.zs_cuda_record(block, device.index, b);
    },
    join(to: object | null, from: object | null) {
      const count = Math.max((to as Handles | null)?.length ?? 0, (from as Handles | null)?.length ?? 0);
      for (let i = 0; i < count; i++) {
        const [a, b] = [handleIn(from, i), handleIn(to, i)];
        if (a !== b) check(native.zs_cuda_stream_order(i, b, i, a), "backward");
      }
    },
  });
}
