/** Different elements, and runs of equal ones, written with other operators. None of it has a derivative. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { CPU } from "../tensor/device.ts";
import { bool, int64 } from "../tensor/dtype.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { Node } from "./node.ts";
import { connect, record } from "./tracking.ts";

/** What is asked for beside the elements. */
interface Request {
  readonly name: "unique" | "unique_consecutive";
  readonly inverse: boolean;
  readonly counts: boolean;
  readonly dim: number | null;
}

/** The list that was asked for; the elements alone where nothing else was. */
function answer(request: Request, values: Tensor, inverse: () => Tensor, counts: () => Tensor): Tensor[] {
  const list = [values];
  if (request.inverse) list.push(inverse());
  if (request.counts) list.push(counts());
  return list.length > 1 ? list : (values as Tensor & Tensor[]);
}

const whole = (t: Tensor, ...shape: number[]): Tensor => t.newZeros(shape, { dtype: int64 });

/** True where an element, or a row, is not the one before. */
function starts(rows: Tensor): Tensor {
  const n = rows._shape[0] as number;
  const changed = rows.narrow(0, 1, n - 1).ne(rows.narrow(0, 0, n - 1));
  const differs = changed._shape.length > 1 ? changed.any(1) : changed;
  return O.cat([rows.newOnes([1], { dtype: bool }), differs], 0);
}

/** Which run each element lies in, at the place that it had before it was put in order. */
function runsOf(first: Tensor, order: Tensor | null): Tensor {
  const run = first.cumsum(0).sub(1);
  return order === null ? run : whole(run, run._numel).scatter(0, order, run);
}

/** How long each run is. */
function lengthsOf(first: Tensor): Tensor {
  const at = first.nonzero().flatten();
  return O.cat([at, whole(at, 1).add(first._numel)], 0).diff();
}

function refuse(self: Tensor, kernel: string): void {
  if (self.dtype.category === 3 || self.dtype.name.startsWith("float8")) {
    throw texts.notImplementedFor("unique", kernel, self.dtype.scalarType);
  }
}

function ofElements(self: Tensor, request: Request): Tensor[] {
  refuse(self, "unique");
  const x = self.flatten();
  if (x._numel === 0) {
    return answer(
      request,
      x.clone(),
      () => whole(x, ...self._shape),
      () => whole(x, 0),
    );
  }
  if (request.name === "unique" && x._storage.device.computes) {
    if (x.dtype === bool) return ofTruths(self, request);
    const few = fewIntegers(x);
    if (few !== null) return ofFew(x, self._shape, few, request);
  }
  const sorted = request.name === "unique" ? x.sort({ stable: true }) : null;
  const values = sorted?.values ?? x;
  const first = starts(values);
  return answer(
    request,
    values.maskedSelect(first),
    () => runsOf(first, sorted?.indices ?? null).view(self._shape),
    () => lengthsOf(first),
  );
}

/** Of truth values two sums tell everything. */
function ofTruths(self: Tensor, request: Request): Tensor[] {
  const [some, every] = [self.any().item(), self.all().item()];
  const both = some && !every;
  const values = both ? self.newTensor([false, true]) : self.newOnes([1]).mul(some);
  return answer(
    request,
    values,
    () => (both ? self.to(int64).contiguous() : whole(self, ...self._shape)),
    () => (both ? O.stack([self.logicalNot().sum(), self.sum()], 0) : whole(self, 1).add(self._numel)),
  );
}

/** From so many integers on it may be quicker to mark which ones there are, if they lie close together. */
const WORTH_COUNTING = 1024;

/** The least and the greatest of many integers that lie close together; null of others, and where torch has none. */
function fewIntegers(x: Tensor): readonly [number, number] | null {
  const { category, isSigned, itemsize } = x.dtype;
  if (category !== 1 || !(isSigned || itemsize === 1) || x._numel < WORTH_COUNTING) return null;
  const [low, high] = [Number(x.min().bigint()), Number(x.max().bigint())];
  return Number.isSafeInteger(low) && Number.isSafeInteger(high) && high - low < x._numel / 4 ? [low, high] : null;
}

/** Of integers from `low` to `high`: each has a place of its own, where it leaves a mark or is counted. */
function ofFew(
  x: Tensor,
  shape: readonly number[],
  [low, high]: readonly [number, number],
  request: Request,
): Tensor[] {
  const places = x.to(int64, { copy: true }).sub_(low);
  const marks = whole(x, high - low + 1);
  if (request.counts) marks.scatterAdd_(0, places, places.newOnes([1]).expand(places._numel));
  else marks.scatter_(0, places, 1);
  const there = marks.ne(0);
  const found = answer(
    request,
    there.nonzero().flatten().add_(low).to(x.dtype),
    () => there.cumsum(0).sub_(1).take(places).view(shape),
    () => marks.maskedSelect(there),
  );
  places.dispose();
  return found;
}

/** An order of rows: by their first element, among equal ones by their second, and so on. */
function lexicographic(rows: Tensor): Tensor {
  let order = O.arange(rows._shape[0] as number, int64, CPU, false);
  if (rows.device.type !== "cpu") order = order.to(rows.device);
  for (let k = (rows._shape[1] as number) - 1; k >= 0; k--) {
    const column = rows.select(1, k).indexSelect(0, order);
    order = order.indexSelect(0, column.argsort({ stable: true }));
  }
  return order;
}

function ofSlices(self: Tensor, given: number, request: Request): Tensor[] {
  refuse(self, request.name === "unique" || self._shape.length > 1 ? "unique_dim" : "unique");
  if (self._shape.length === 0) throw texts.dimOfScalar("unique", given);
  const dim = wrapDim(given, self._shape.length, "unique");
  const n = self._shape[dim] as number;
  const zeros = self._shape.filter((size) => size === 0).length;
  if (n === 0 && zeros > 1) throw texts.uniqueOfNothing("unique");
  if (n > 0 && zeros > 0) throw texts.uniqueOfEmpty("unique");
  const none = (): Tensor => whole(self, 0);
  if (n === 0) return answer(request, self.clone(), none, none);
  // Slices lie one after the other, in the result too.
  const moved = self.movedim(dim, 0).contiguous();
  const rows = moved.view(n, -1);
  const order = request.name === "unique" ? lexicographic(rows) : null;
  const first = starts(order === null ? rows : rows.indexSelect(0, order));
  const at = order === null ? first.nonzero().flatten() : order.maskedSelect(first);
  return answer(
    request,
    moved.indexSelect(0, at).movedim(0, dim),
    () => runsOf(first, order),
    () => lengthsOf(first),
  );
}

const one = (found: Tensor[]): Tensor => found as Tensor[] & Tensor;

/** The elements are on the graph; going back through it is refused. */
class Found extends Node {
  readonly operator: string;
  constructor(operator: string) {
    super();
    this.operator = operator;
  }
  override get name(): string {
    const words = this.operator.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    return `${words.join("")}Backward0`;
  }
  override apply(): never {
    throw texts.noFormula(undefined, this.operator);
  }
}

/** torch's operator, after which the node is named. */
function operatorOf({ name, dim }: Request): string {
  if (name === "unique_consecutive") return name;
  return dim === null ? "_unique2" : "unique_dim";
}

function find(given: Tensor, request: Request): Tensor[] {
  const self = given.detach();
  const found = request.dim === null ? ofElements(self, request) : ofSlices(self, request.dim, request);
  if (gradMode.enabled && requiresGrad(given)) {
    const node = new Found(operatorOf(request));
    connect(node, [given]);
    record(Array.isArray(found) ? (found[0] as Tensor) : one(found), node);
  }
  return found;
}

export function unique(self: Tensor, _sorted: boolean, dim: number | null): Tensor {
  return one(find(self, { name: "unique", inverse: false, counts: false, dim }));
}

export function uniqueInverse(
  self: Tensor,
  _sorted: boolean,
  inverse: boolean,
  counts: boolean,
  dim: number | null,
): Tensor[] {
  return find(self, { name: "unique", inverse, counts, dim });
}

export function uniqueCounts(self: Tensor, _sorted: boolean, counts: boolean, dim: number | null): Tensor[] {
  return find(self, { name: "unique", inverse: false, counts, dim });
}

export function uniqueConsecutive(self: Tensor, dim: number | null): Tensor {
  return one(find(self, { name: "unique_consecutive", inverse: false, counts: false, dim }));
}

export function uniqueConsecutiveInverse(
  self: Tensor,
  inverse: boolean,
  counts: boolean,
  dim: number | null,
): Tensor[] {
  return find(self, { name: "unique_consecutive", inverse, counts, dim });
}

export function uniqueConsecutiveCounts(self: Tensor, counts: boolean, dim: number | null): Tensor[] {
  return find(self, { name: "unique_consecutive", inverse: false, counts, dim });
}
