/** The operands of one call lie on one device. Generated operators ask once there are tensors on several. */
import * as texts from "../../generated/texts.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { requireKept } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";

type Operands = readonly unknown[];

/** Single elements on the CPU stand for numbers: kernels of every device take them. */
const standsForNumber = (t: Tensor): boolean => t._shape.length === 0 && t._storage.device === CPU;

function tensorsOf(operands: Operands): Tensor[] {
  return operands.flat().filter((x) => x instanceof Tensor);
}

/** The device of the first operand that is no number, of numbers alone the CPU. */
export function commonDevice(tensors: readonly Tensor[]): Device {
  return tensors.find((t) => !standsForNumber(t))?.device ?? CPU;
}

/** Operators that are not pointwise and take a single element on the CPU, as torch's do. */
const TAKES_NUMBERS: ReadonlySet<string> = new Set([
  "_huber_loss",
  "_mse_loss",
  "_smooth_l1_loss",
  "allclose",
  "bernoulli_",
  "fill",
  "fill_",
  "index_fill",
  "index_fill_",
  "index_put",
  "index_put_",
  "isclose",
  "masked_fill",
  "masked_fill_",
  "normal",
]);

/** What becomes of single elements on the CPU: they stand for numbers, they are moved, or they are refused. */
export type Singles = "numbers" | "moved" | "refused";

/** The same for an operator. Operators that are written with others leave it to those. */
export function singlesOf(name: string, kind: string): Singles {
  if (kind === "pointwise" || kind === "composite") return "numbers";
  return TAKES_NUMBERS.has(name) ? "moved" : "refused";
}

/**
 * The operands of a call with single elements moved from the CPU to where the others are, null where nothing has to be
 * moved: kernels take them beside tensors that have dimensions.
 */
export function withSinglesMoved(args: readonly unknown[], places: readonly number[], singles: Singles) {
  const tensors = tensorsOf(places.map((i) => args[i]));
  const common = commonDevice(tensors);
  if (common.type !== "cuda" || !tensors.some(standsForNumber)) return null;
  const beside = tensors.some((t) => t._storage.device === common && t._shape.length > 0);
  if (singles === "numbers" && beside) return null;
  const moved = [...args];
  for (const i of places) {
    const x = args[i];
    if (x instanceof Tensor && standsForNumber(x)) moved[i] = x.to(common);
  }
  return moved;
}

/** Operators that read the one element of an operand on any device: where they work, and where such operands stand. */
const READ_ANYWHERE: Readonly<Record<string, { at: (args: Operands) => Device; places: readonly number[] }>> = {
  fill: { at: deviceOfFirst, places: [1] },
  index_fill: { at: deviceOfFirst, places: [3] },
  index_put: { at: deviceOfFirst, places: [2] },
  masked_fill: { at: deviceOfFirst, places: [2] },
  where: { at: (args) => firstGpu(tensorsOf(args.slice(0, 3))) ?? CPU, places: [0, 1, 2] },
};

function deviceOfFirst([self]: Operands): Device {
  return (self as Tensor)._storage.device;
}

const firstGpu = (tensors: readonly Tensor[]): Device | undefined =>
  tensors.find((t) => t._storage.device.type === "cuda")?._storage.device;

/** The operands of a call with single elements of GPUs where those operators work; the same list where none moves. */
export function withValuesMoved(name: string, args: Operands): Operands {
  const takes = READ_ANYWHERE[name.replace(/_$/, "")];
  if (takes === undefined) return args;
  const there = takes.at(args);
  if (!there.computes || (there === CPU && name.startsWith("masked_fill"))) return args;
  let moved: unknown[] | null = null;
  for (const i of takes.places) {
    const x = args[i];
    if (!(x instanceof Tensor) || x._shape.length > 0 || x.device === there || x.device.type !== "cuda") continue;
    moved ??= [...args];
    moved[i] = x.to(there);
  }
  return moved ?? args;
}

/** What some operators refuse in other words than all others. */
export function requireInOwnWords(name: string, args: Operands): void {
  const [self, second] = args as [Tensor, unknown];
  if (name === "masked_fill" || name === "masked_fill_") {
    const mask = second as Tensor;
    for (const { _storage } of [self, mask]) requireKept(_storage);
    if (mask.device !== self.device) {
      throw texts.maskOnOtherDevice("maskedFill", String(mask.device), String(self.device));
    }
    const value = args[2];
    if (self.device === CPU && value instanceof Tensor && value.device.type === "cuda") {
      throw texts.fillValueOnGpu("maskedFill");
    }
  }
  if (name === "index_fill" || name === "index_fill_") {
    const index = args[2] as Tensor;
    if (self.isCuda && index.device === CPU) throw texts.differentDevices("indexFill", String(self.device), "cpu");
  }
  if (name !== "index" && name !== "index_put" && name !== "index_put_") return;
  requireKept(self._storage);
  for (const { device } of tensorsOf([second])) {
    if (device !== self.device && device !== CPU) throw texts.indicesOnOtherDevice(name, String(self.device));
  }
}

/** What a check needs to know of an operator. */
interface Checked {
  readonly publicName: string;
  readonly args: readonly string[];
  readonly devices: readonly [read: readonly number[], written: readonly number[], indices: readonly number[]] | null;
}

const onMeta = ({ _storage }: Tensor): boolean => !_storage.device.computes;

/** Refuses operands of several devices as torch's functions do that compare them: results first, then in order. */
export function requireByChecker(op: Checked, [plain, withOut]: readonly [string, string?], operands: Operands): void {
  const [read, , indices] = op.devices ?? [[], [], []];
  const last = op.args.length - 1;
  const out = op.args[last] === "out" && operands[last] instanceof Tensor ? [last] : [];
  const places = [...out, ...[...read, ...indices].sort((a, b) => a - b)];
  const tensors = tensorsOf(places.map((at) => operands[at]));
  const [first] = tensors;
  // The meta device has checks of its own.
  if (first === undefined || tensors.some(onMeta)) return;
  for (const { _storage } of tensors) requireKept(_storage);
  const common = first.device;
  for (const at of places) {
    const other = tensorsOf([operands[at]]).find((t) => t.device !== common);
    if (other === undefined) continue;
    const name = (op.args[at] as string).replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    const checker = (out.length > 0 ? withOut : plain) as string;
    throw texts.argumentOnOtherDevice(op.publicName, name, String(other.device), String(common), checker);
  }
}

/**
 * Refuses operands of several devices. `written` are results that the caller gave; `indices` may also be on the CPU,
 * whatever they index. `gpuFirst`: torch names a GPU before the CPU.
 */
export function requireSameDevice(
  op: string | undefined,
  operands: Operands,
  written: Operands = [],
  indices: Operands = [],
  singles: Singles = "numbers",
  gpuFirst = false,
): void {
  const inputs = tensorsOf(operands);
  const results = tensorsOf(written);
  const first = commonDevice(inputs);
  // Pointwise operators look for a GPU among the results, too.
  const common = gpuFirst && first === CPU ? (firstGpu([...results, ...inputs]) ?? first) : first;
  const refuse = (t: Tensor): never => {
    for (const { _storage } of [...inputs, t]) requireKept(_storage);
    throw texts.differentDevices(op, common.toString(), t.device.toString());
  };
  for (const t of inputs) {
    if (t.device !== common && (singles === "refused" || !standsForNumber(t))) refuse(t);
  }
  for (const t of results) if (t.device !== common) refuse(t);
  if (gpuFirst && common.type === "cuda" && op !== "where" && inputs.filter(standsForNumber).length > 1) {
    throw texts.manySinglesOnCpu(op);
  }
  for (const t of tensorsOf(indices)) if (t.device !== common && t.device !== CPU) refuse(t);
}
