/** Operators over lists of tensors: one native call for a list of any length. */

import { AdagradAttr, AdamAttr, RmspropAttr, ScaleAttr, SgdAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import { attention, DEVICES } from "../ffi/attention.ts";
import * as frame from "../ffi/frame.ts";
import type { Scalar } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { bfloat16, type DType, float16, float32, float64 } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import { drop } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { readNumbers } from "../tensor/values.ts";
import { isDense } from "./allocate.ts";
import * as arith from "./arith.ts";
import * as copies from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { contiguousFormat } from "./memory-format.ts";
import { requireNoInternalOverlap, requireNoPartialOverlap } from "./overlap.ts";
import { binary, RULES } from "./pointwise.ts";

type List = readonly Tensor[];

const MUL = { name: "_foreach_mul_", kernel: K.binary_mul, rule: RULES.arith };

/** Whether kernels over lists compute in this dtype. */
export function isListed(dtype: DType): boolean {
  return dtype === float32 || dtype === float64 || dtype === bfloat16 || dtype === float16;
}

function checkLengths(op: string, first: List, others: readonly List[]): void {
  for (const list of others) if (list.length !== first.length) throw texts.listLengths(op, first.length, list.length);
}

/** The dtypes, shapes and places of one member, which kernels do not look at again. */
function checkMember(op: string, model: Tensor, t: Tensor, written: boolean): void {
  if (t.dtype !== model.dtype) throw texts.listDtypes(op, t.dtype.scalarType, model.dtype.scalarType);
  if (!sameSizes(t._shape, model._shape)) throw texts.listShapes(op, t._shape, model._shape);
  if (t._bits !== 0 || !isListed(t.dtype)) throw texts.notImplementedFor(op, op, t.dtype.scalarType);
  if (written) requireNoInternalOverlap(t, op);
  if (t !== model) requireNoPartialOverlap(model, t, op);
}

const count = [0];
const flatShape = [0];
const flatStride = [1];
const none: readonly number[] = [];

/** Whether the elements of a member lie in one order and without gaps in all lists. */
function isFlat(streams: readonly List[], i: number): boolean {
  const first = (streams[0] as List)[i] as Tensor;
  const dense = first._contiguous || isDense(first._shape, first._strides);
  if (!dense) return false;
  for (let k = 1; k < streams.length; k++) {
    const t = (streams[k] as List)[i] as Tensor;
    if (!(t._contiguous && first._contiguous) && !sameSizes(t._strides, first._strides)) return false;
  }
  return true;
}

/**
 * Writes the operands of a call: those of one member follow those of another. All lists but the second, where there are
 * several, are written; numbers of steps come last.
 */
function writeLists(op: string, streams: readonly List[], steps: List | null, taken: readonly number[] | null): void {
  const self = streams[0] as List;
  const per = streams.length + (steps === null ? 0 : 1);
  frame.begin(self.length * per, 0);
  let at = 0;
  for (let i = 0; i < self.length; i++) {
    const model = self[i] as Tensor;
    const flat = isFlat(streams, i);
    if (flat) flatShape[0] = model._numel;
    for (let k = 0; k < streams.length; k++) {
      const t = (streams[k] as List)[i] as Tensor;
      checkMember(op, model, t, k !== 1 && !flat);
      const address = t._numel === 0 ? 0 : t._address();
      if (flat) frame.operand(at++, address, t.dtype.id, flatShape, flatStride, 0);
      else frame.operand(at++, address, t.dtype.id, t._shape, t._strides, 0);
    }
    if (steps === null) continue;
    const step = steps[i] as Tensor;
    if (taken === null) frame.operand(at++, step._address(), step.dtype.id, none, none, 0);
    else {
      // A number that the device does not have stands in the place of a size.
      count[0] = taken[i] as number;
      frame.operand(at++, 0, step.dtype.id, count, flatStride, 0);
    }
  }
}

/** Whether something is on a device, which is looked for where there is one only. */
function isElsewhere(streams: readonly List[], steps: List | null): boolean {
  if ((attention.bits & DEVICES) === 0) return false;
  return [...streams, steps ?? []].some((list) => list.some((t) => t._storage.device !== CPU));
}

function checkSteps(op: string, steps: List): void {
  for (const step of steps) {
    if (step._numel === 1 && (step.dtype === float32 || step.dtype === float64)) continue;
    throw texts.listSteps(op, step.dtype.scalarType, step._shape);
  }
}

/** Counts steps that another device's members have on the host, and gives how many those are; null for others. */
function takenOn(device: Device, steps: List | null): number[] | null {
  if (device === CPU || steps === null || steps.length === 0) return null;
  if (steps.some((t) => t._storage.device !== CPU)) return null;
  return steps.map((t) => {
    arith.add(t, 1, 1, t, true);
    return readNumbers(t._address(), t.dtype.id, 1, 1)[0] as number;
  });
}

/**
 * Members whose elements do not lie in one order, made so for devices whose kernels take no others; `back` copies what
 * was written.
 */
function flattened(streams: readonly List[]): { lists: readonly List[]; back: () => void } {
  const odd = (streams[0] as List).flatMap((_, i) => (isFlat(streams, i) ? [] : [i]));
  if (odd.length === 0) return { lists: streams, back: () => {} };
  const lists = streams.map((list) => [...list]);
  for (const list of lists) for (const i of odd) list[i] = copies.clone(list[i] as Tensor, contiguousFormat);
  const back = (): void => {
    for (const i of odd) {
      lists.forEach((list, k) => {
        const copy = list[i] as Tensor;
        if (k !== 1) copies.transfer((streams[k] as List)[i] as Tensor, copy);
        drop(copy);
      });
    }
  };
  return { lists, back };
}

/** Runs a kernel on lists. Its numbers are set between, since nothing else may use the frame. */
function run(op: string, kernel: Kernel, streams: readonly List[], steps: List | null, attrs: () => void): void {
  const self = streams[0] as List;
  checkLengths(op, self, steps === null ? streams.slice(1) : [...streams.slice(1), steps]);
  const [first] = self;
  if (first === undefined || !first._storage.device.computes) return;
  const { device } = first._storage;
  if (steps !== null) checkSteps(op, steps);
  if (device === CPU && !isElsewhere(streams, steps)) {
    writeLists(op, streams, steps, null);
    attrs();
    kernel.run(device, op);
    return;
  }
  streams.forEach((list, k) => {
    list.forEach((t, i) => {
      if (t._storage.device !== device) throw texts.differentDevices(op, String(device), String(t._storage.device));
      checkMember(op, self[i] as Tensor, t, k !== 1);
    });
  });
  for (const t of steps ?? []) {
    const there = t._storage.device;
    if (there !== device && (there !== CPU || steps?.some((other) => other._storage.device !== CPU))) {
      throw texts.differentDevices(op, String(device), String(there));
    }
  }
  const { lists, back } = flattened(streams);
  writeLists(op, lists, steps, takenOn(device, steps));
  attrs();
  kernel.run(device, op);
  back();
}

const flag = (value: boolean): number => (value ? 1 : 0);

/** The sums of two lists. */
export function add(self: List, other: List, alpha: Scalar, out?: List): Tensor[] {
  checkLengths("_foreach_add", self, out === undefined ? [other] : [other, out]);
  return self.map((t, i) => arith.add(t, other[i] as Tensor, alpha, out?.[i], false));
}

/** self[i] *= scalar */
export function scale(self: List, scalar: Scalar): void {
  const number = typeof scalar === "number" ? scalar : null;
  const device = self[0]?._storage.device;
  const listed = (t: Tensor): boolean => t._storage.device === device && isListed(t.dtype) && t._bits === 0;
  if (number === null || device?.computes !== true || !self.every(listed)) {
    for (const t of self) binary(MUL, t, scalar, t, true);
    return;
  }
  run("_foreach_mul_", K.foreach_scale, [self], null, () => frame.attr(ScaleAttr.factor, number));
}

/** self[i] = 0 */
export function zero(self: List): void {
  for (const t of self) copies.fill(t, 0);
}

export function adam(
  self: List,
  grads: List,
  averages: List,
  squares: List,
  most: List,
  steps: List,
  lr: number,
  beta1: number,
  beta2: number,
  decay: number,
  eps: number,
  amsgrad: boolean,
  maximize: boolean,
  decoupled: boolean,
): void {
  const streams = amsgrad ? [self, grads, averages, squares, most] : [self, grads, averages, squares];
  run("_fused_adam_", K.foreach_adam, streams, steps, () => {
    frame.attr(AdamAttr.lr, lr);
    frame.attr(AdamAttr.beta1, beta1);
    frame.attr(AdamAttr.beta2, beta2);
    frame.attr(AdamAttr.eps, eps);
    frame.attr(AdamAttr.weightDecay, decay);
    frame.attr(AdamAttr.amsgrad, flag(amsgrad));
    frame.attr(AdamAttr.maximize, flag(maximize));
    frame.attr(AdamAttr.decoupled, flag(decoupled));
  });
}

export function sgd(
  self: List,
  grads: List,
  buffers: List,
  decay: number,
  momentum: number,
  lr: number,
  dampening: number,
  nesterov: boolean,
  maximize: boolean,
  isFirst: boolean,
): void {
  const streams = momentum === 0 ? [self, grads] : [self, grads, buffers];
  run("_fused_sgd_", K.foreach_sgd, streams, null, () => {
    frame.attr(SgdAttr.lr, lr);
    frame.attr(SgdAttr.momentum, momentum);
    frame.attr(SgdAttr.dampening, dampening);
    frame.attr(SgdAttr.weightDecay, decay);
    frame.attr(SgdAttr.nesterov, flag(nesterov));
    frame.attr(SgdAttr.maximize, flag(maximize));
    frame.attr(SgdAttr.first, flag(isFirst && momentum !== 0));
  });
}

export function adagrad(
  self: List,
  grads: List,
  sums: List,
  steps: List,
  lr: number,
  lrDecay: number,
  decay: number,
  eps: number,
  maximize: boolean,
): void {
  run("_fused_adagrad_", K.foreach_adagrad, [self, grads, sums], steps, () => {
    frame.attr(AdagradAttr.lr, lr);
    frame.attr(AdagradAttr.lrDecay, lrDecay);
    frame.attr(AdagradAttr.eps, eps);
    frame.attr(AdagradAttr.weightDecay, decay);
    frame.attr(AdagradAttr.maximize, flag(maximize));
  });
}

export function rmsprop(
  self: List,
  grads: List,
  squares: List,
  buffers: List,
  averages: List,
  steps: List,
  lr: number,
  alpha: number,
  eps: number,
  decay: number,
  momentum: number,
  centered: boolean,
  maximize: boolean,
): void {
  const streams = [self, grads, squares, ...(momentum > 0 ? [buffers] : []), ...(centered ? [averages] : [])];
  run("_fused_rmsprop_", K.foreach_rmsprop, streams, steps, () => {
    frame.attr(RmspropAttr.lr, lr);
    frame.attr(RmspropAttr.alpha, alpha);
    frame.attr(RmspropAttr.eps, eps);
    frame.attr(RmspropAttr.weightDecay, decay);
    frame.attr(RmspropAttr.momentum, momentum);
    frame.attr(RmspropAttr.centered, flag(centered));
    frame.attr(RmspropAttr.maximize, flag(maximize));
  });
}
