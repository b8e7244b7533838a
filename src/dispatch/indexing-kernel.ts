/** The native calls that read and write elements at positions given by index tensors. See zig/src/cpu/index.zig. */

import { IndexAttr, IndexDetail, IndexFact, STATUS } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as frame from "../ffi/frame.ts";
import type { Device } from "../tensor/device.ts";
import { contiguousStrides } from "../tensor/size.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { hasWork } from "./backend.ts";
import * as copy from "./copy.ts";
import { type Fault, faultError, faultNumber } from "./faults.ts";
import { throwStatus } from "./kernel.ts";
import { asView } from "./views.ts";

/** One index tensor (int64 or int32, without gaps) and the dimension that it indexes. */
export interface Axis {
  readonly index: Tensor;
  /** What the kernel takes as this operand's shape and strides: [count, size, dim] and [1, stride, 0]. */
  readonly facts: readonly number[];
  readonly steps: readonly number[];
}

/** `dim` is how messages name the dimension; size and stride are its own. */
export function axis(index: Tensor, dim: number, size: number, stride: number): Axis {
  const facts: number[] = [];
  facts[IndexFact.count] = index._numel;
  facts[IndexFact.size] = size;
  facts[IndexFact.dim] = dim;
  return { index, facts, steps: [1, stride, 0] };
}

/** The iteration space of a call, and how the indexed tensor and the index tensors lie in it. */
export interface Selection {
  readonly shape: readonly number[];
  /** Of the indexed tensor; 0 along the indexed dimensions. */
  readonly strides: readonly number[];
  /** Of the index tensors; 0 along all other dimensions. */
  readonly positions: readonly number[];
  readonly axes: readonly Axis[];
  /** Negative indices count from the end. */
  readonly wrap: boolean;
  /** The error of an index that lies outside. */
  readonly fault: Fault;
}

/** Indices on the CPU may index what lies elsewhere. */
function axesOn(device: Device, axes: readonly Axis[]): readonly Axis[] {
  if (axes.every((a) => a.index._storage.device === device)) return axes;
  return axes.map((a) => ({ ...a, index: copy.onDevice(a.index, device) }));
}

function writeFrame(dense: Tensor, denseStrides: readonly number[], self: Tensor, s: Selection): void {
  const axes = axesOn(self._storage.device, s.axes);
  frame.begin(3 + axes.length, self.dtype.compute);
  frame.operand(0, dense._address(), dense.dtype.id, s.shape, denseStrides, 0);
  frame.operand(1, self._address(), self.dtype.id, s.shape, s.strides, 0);
  frame.operand(2, 0, self.dtype.id, s.shape, s.positions, 0);
  for (let k = 0; k < axes.length; k++) {
    const a = axes[k] as Axis;
    frame.operand(3 + k, a.index._address(), a.index.dtype.id, a.facts, a.steps, 0);
  }
  frame.attr(IndexAttr.wrap, s.wrap ? 1 : 0);
  frame.attr(IndexAttr.fault, faultNumber(s.fault));
}

function check(status: number, op: string, path: string, s: Selection): void {
  if (status === 0) return;
  if (status === STATUS.index_out_of_bounds) {
    const { index, dim, size } = IndexDetail;
    throw faultError(s.fault, frame.detail(index), frame.detail(dim), frame.detail(size));
  }
  throwStatus(status, op, path, "");
}

/** out = self[selection]; `out` has the selection's shape. */
export function read(out: Tensor, self: Tensor, s: Selection, op: string): void {
  if (!hasWork(out)) return;
  writeFrame(out, out._strides, self, s);
  check(K.index_get.launch(out._storage.device), op, K.index_get.path, s);
}

/** self[selection] = source, or combined with it; the source broadcasts and has no flag bits. */
export function write(self: Tensor, source: Tensor, s: Selection, mode: number, op: string): void {
  if (!self._storage.device.computes) return;
  if (s.shape.includes(0)) return;
  const dense = source._contiguous && source._bits === 0 ? source : copy.denseOf(source);
  writeFrame(dense, broadcastStrides(dense, s.shape), self, s);
  frame.attr(IndexAttr.mode, mode);
  check(K.index_put.launch(self._storage.device), op, K.index_put.path, s);
  dropCopy(dense, source);
}

function broadcastStrides(t: Tensor, shape: readonly number[]): readonly number[] {
  const lead = shape.length - t._shape.length;
  if (lead === 0 && t._shape === shape) return t._strides;
  return shape.map((_, d) => (d < lead || t._shape[d - lead] === 1 ? 0 : (t._strides[d - lead] as number)));
}

/** An index tensor whose repeated dimensions are left out, and the strides of its positions over its own shape. */
export function compactIndex(index: Tensor): { index: Tensor; positions: readonly number[] } {
  if (index._contiguous) return { index, positions: index._strides };
  const kept = index._shape.map((n, d) => (index._strides[d] === 0 ? 1 : n));
  const small = copy.denseOf(asView(index, kept, index._strides, index._offset));
  const strides = contiguousStrides(kept);
  return { index: small, positions: strides.map((s, d) => (index._strides[d] === 0 ? 0 : s)) };
}
