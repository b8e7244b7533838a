/** The call frame of this thread: one block of f64 fields that a kernel reads. See zig/src/core/frame.zig. */
import { COMPUTE, FRAME, IsaLevel } from "../../generated/abi.ts";
import { native, textAt } from "./library.ts";
import { copyBytes, ownFrame, releaseAnchor } from "./memory.ts";

let capacity = 8;
let address = 0;
let fields: Float64Array = new Float64Array(0);
let words: BigInt64Array = new BigInt64Array(0);
let singles: Float32Array = new Float32Array(0);
let halves: Int32Array = new Int32Array(0);

function open(operands: number): void {
  const next = native.zs_frame_create(operands);
  if (next === 0) throw new Error("zensor: no memory for a call frame");
  const window = ownFrame(next, (FRAME.OPERANDS + operands * FRAME.OPERAND_SIZE) * 8, operands);
  releaseAnchor(fields.buffer as ArrayBuffer);
  address = next;
  capacity = operands;
  fields = new Float64Array(window);
  words = new BigInt64Array(window);
  singles = new Float32Array(window);
  halves = new Int32Array(window);
}
open(capacity);

/** Starts a call: how many operands follow, and the compute type. */
export function begin(operands: number, compute: number): void {
  if (operands > capacity) open(Math.max(operands, 2 * capacity));
  fields[FRAME.OPERAND_COUNT] = operands;
  fields[FRAME.COMPUTE] = compute;
  fields[FRAME.SEQUENTIAL] = 0;
}

/** Asks a pointwise kernel to finish each element before it reads the next (overlapping in-place writes). */
export function oneByOne(): void {
  fields[FRAME.SEQUENTIAL] = 1;
}

/** Writes operand `i`: where element 0 is, its dtype's id, sizes, strides in elements, and flag bits. */
export function operand(
  i: number,
  data: number,
  dtype: number,
  shape: readonly number[],
  strides: readonly number[],
  flags: number,
): void {
  const at = FRAME.OPERANDS + i * FRAME.OPERAND_SIZE;
  const f = fields;
  const rank = shape.length;
  f[at + FRAME.DATA] = data;
  f[at + FRAME.DTYPE] = dtype;
  f[at + FRAME.RANK] = rank;
  f[at + FRAME.FLAGS] = flags;
  for (let d = 0; d < rank; d++) {
    f[at + FRAME.SHAPE + d] = shape[d] as number;
    f[at + FRAME.STRIDES + d] = strides[d] as number;
  }
}

/** Stands for the sizes of an operand that was broadcast: they are operand 0's, which kernels read. */
const AS_FIRST = -1;

/** Writes operand `i` of a pointwise call: its strides broadcast to a rank, aligned at the last dimension. */
export function broadcastOperand(
  i: number,
  data: number,
  dtype: number,
  shape: readonly number[],
  strides: readonly number[],
  rank: number,
  flags: number,
): void {
  const at = FRAME.OPERANDS + i * FRAME.OPERAND_SIZE;
  const f = fields;
  f[at + FRAME.DATA] = data;
  f[at + FRAME.DTYPE] = dtype;
  f[at + FRAME.RANK] = rank;
  f[at + FRAME.FLAGS] = flags;
  f[at + FRAME.SHAPE] = AS_FIRST;
  const lead = rank - shape.length;
  const s = at + FRAME.STRIDES;
  for (let d = 0; d < lead; d++) f[s + d] = 0;
  for (let d = lead; d < rank; d++) f[s + d] = shape[d - lead] === 1 ? 0 : (strides[d - lead] as number);
}

/** Sets attribute `i`. */
export function attr(i: number, value: number): void {
  fields[FRAME.ATTRS + i] = value;
}

/** Address of scratch slot `i` (16 bytes each) after writing a double to it. */
export function scratchFloat(i: number, re: number, im = 0): number {
  const at = FRAME.SCRATCH + 2 * i;
  fields[at] = re;
  fields[at + 1] = im;
  return address + 8 * at;
}

/** Address of scratch slot `i` after writing an int64 to it. */
export function scratchInt(i: number, value: bigint): number {
  const at = FRAME.SCRATCH + 2 * i;
  words[at] = value;
  return address + 8 * at;
}

/**
 * Address of scratch slot `i` after writing a number in a real compute type's own form, 0 when the type has none here.
 * Integers must be safe.
 */
export function scratchNative(i: number, compute: number, value: number): number {
  const at = FRAME.SCRATCH + 2 * i;
  switch (compute) {
    case COMPUTE.f32:
      singles[2 * at] = value;
      break;
    case COMPUTE.f64:
      fields[at] = value;
      break;
    case COMPUTE.i32:
      halves[2 * at] = value;
      break;
    case COMPUTE.i64:
      halves[2 * at] = value;
      halves[2 * at + 1] = Math.floor(value / 4294967296);
      break;
    default:
      return 0;
  }
  return address + 8 * at;
}

/** An operand as a value. */
export interface OperandValue {
  /** Address of element 0; 0 for a number. */
  readonly data: number;
  readonly dtype: number;
  readonly flags: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The 16 bytes of a number, whose dtype says how to read them; null for a tensor. */
  readonly number: Uint8Array | null;
}

/** What the frame holds for a kernel, as a value: it stays as it is while later calls are written. */
export interface FrameValue {
  readonly compute: number;
  /** Whether elements are finished one by one. */
  readonly sequential: boolean;
  /** All attribute fields; a kernel reads those that it has. */
  readonly attributes: Float64Array;
  readonly operands: readonly OperandValue[];
}

function operandValue(at: number, first: OperandValue | null): OperandValue {
  const f = fields;
  const data = f[at + FRAME.DATA] as number;
  const rank = f[at + FRAME.RANK] as number;
  const list = (from: number): number[] => Array.from(f.subarray(at + from, at + from + rank));
  const broadcast = first !== null && f[at + FRAME.SHAPE] === AS_FIRST;
  const slot = data - address - 8 * FRAME.SCRATCH;
  const isNumber = slot >= 0 && slot < 8 * FRAME.SCRATCH_SIZE;
  return {
    data: isNumber ? 0 : data,
    dtype: f[at + FRAME.DTYPE] as number,
    flags: f[at + FRAME.FLAGS] as number,
    shape: broadcast ? first.shape : list(FRAME.SHAPE),
    strides: list(FRAME.STRIDES),
    number: isNumber ? new Uint8Array(f.buffer, 8 * FRAME.SCRATCH + slot, 16).slice() : null,
  };
}

/** The call that was written, for devices that run it later. */
export function frameValue(): FrameValue {
  const operands: OperandValue[] = [];
  for (let i = 0; i < (fields[FRAME.OPERAND_COUNT] as number); i++) {
    operands.push(operandValue(FRAME.OPERANDS + i * FRAME.OPERAND_SIZE, operands[0] ?? null));
  }
  return {
    compute: fields[FRAME.COMPUTE] as number,
    sequential: fields[FRAME.SEQUENTIAL] === 1,
    attributes: fields.slice(FRAME.ATTRS, FRAME.ATTRS + FRAME.ATTR_COUNT),
    operands,
  };
}

/** Address of scratch slot `i` after copying an element to it. */
export function scratchElement(i: number, element: number, itemsize: number): number {
  const to = address + 8 * (FRAME.SCRATCH + 2 * i);
  copyBytes(to, element, itemsize);
  return to;
}

/** Number `i` of the detail that a failed call left. */
export function detail(i: number): number {
  return fields[FRAME.DETAIL + i] as number;
}

/** The frame's address: what every kernel takes. */
export function frameAddress(): number {
  return address;
}

/** The instruction set in use: `baseline`, `avx2`, `avx512` or `neon`. */
export function instructionSet(): string {
  return textAt(native.zs_isa() as number);
}

const { baseline, avx2, avx512, neon } = IsaLevel;
const LEVELS: Record<string, number> = process.arch === "x64" ? { baseline, avx2, avx512 } : { neon };

function start(): void {
  const wanted = process.env.ZENSOR_ISA;
  const level = wanted === undefined || wanted === "" ? IsaLevel.best : LEVELS[wanted];
  const known = Object.keys(LEVELS);
  if (level === undefined) throw new Error(`zensor: ZENSOR_ISA=${wanted} is none of ${known.join(", ")}`);
  const threads = Number(process.env.ZENSOR_NUM_THREADS ?? 0);
  if (!Number.isInteger(threads) || threads < 0) throw new Error("zensor: ZENSOR_NUM_THREADS must be a count");
  const cache = process.env.ZENSOR_CACHE_LIMIT;
  if (cache !== undefined && cache !== "") {
    if (!/^\d+$/.test(cache)) throw new Error("zensor: ZENSOR_CACHE_LIMIT must be a number of bytes");
    native.zs_set_cache_limit(Number(cache));
  }
  if (native.zs_init(level, threads) === 0) return;
  const best = known.find((name) => LEVELS[name] === native.zs_best_isa());
  throw new Error(`zensor: ZENSOR_ISA=${wanted} is not available: the best set of this processor is ${best}`);
}
start();
