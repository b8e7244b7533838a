// `zensor cast`: tensors of another dtype, in any format that can be written.
import { type DType, dtypeByName, dtypes, longName } from "../tensor/dtype.ts";
import type { Storage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isLazy, isNested, type Td } from "../tensordict/core/state.ts";
import { zeros } from "../tensordict/core/tensor-ops.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { CliError, EXIT } from "./errors.ts";
import { copyInto, type Fill, likeBefore, placeFilled, replaceTensors } from "./filling.ts";
import { tensorsIn } from "./inspect.ts";
import { type Keys, keysOption, type Path } from "./keys.ts";
import { pause } from "./lifetime.ts";
import { SEPARATOR } from "./losses.ts";
import { suggestion } from "./near.ts";
import { warn } from "./output.ts";
import { numbersOf, pieces } from "./pieces.ts";
import { openSource, type TrustOptions } from "./source.ts";
import { openTarget, prepare, type TargetOptions, type Told, tellWritten } from "./target.ts";
import { counted } from "./text.ts";

/** Options of the command. */
export interface CastOptions extends TargetOptions, TrustOptions {
  from?: string;
  dtype?: string;
  keys?: string[];
  all?: boolean;
}

interface Found {
  path: Path;
  tensor: Tensor;
}

function dtypeOption(text: string | undefined): DType {
  if (text === undefined) throw new CliError("nothing to cast to: pass --dtype.", EXIT.usage);
  const dtype = dtypeByName(text) ?? dtypeByName(longName(text));
  if (dtype !== undefined) return dtype;
  const names = dtypes.map(({ name }) => name);
  const advice = suggestion(text, names);
  throw new CliError(`--dtype takes one of ${names.join(", ")}, got ${JSON.stringify(text)}.${advice}`, EXIT.usage);
}

function tensorsBelow(td: Td, path: Path = [], found: Found[] = []): Found[] {
  if (isNonTensor(td)) return found;
  const entries: Iterable<readonly [string, Entry]> = isLazy(td)
    ? td.members.map((member, i) => [String(i), member as Entry] as const)
    : entriesOf(td);
  for (const [key, entry] of entries) {
    const inner = [...path, key];
    if (entry instanceof Tensor) found.push({ path: inner, tensor: entry });
    else if (!isNested(entry)) tensorsBelow(entry as Td, inner, found);
  }
  return found;
}

/** Whether a path is one of these, or below one. Members of a lazy stack have no keys. */
function isBelow(path: Path, chosen: readonly Path[]): boolean {
  return chosen.some((one) => one.every((key, i) => path[i] === key));
}

function chosenIn(td: Td, keys: Keys | null): Found[] {
  const all = tensorsBelow(td);
  if (keys === null) return all;
  if (isLazy(td)) {
    // A name stands for the entries of all members.
    return td.members.flatMap((member, i) => {
      return chosenIn(member, keys).map(({ path, tensor }) => ({ path: [String(i), ...path], tensor }));
    });
  }
  const chosen = keys.all(td);
  return all.filter(({ path }) => isBelow(path, chosen));
}

/** Elements in a dtype. That imaginary parts are left out was agreed to. */
function inDtype(part: Tensor, dtype: DType): Tensor {
  return (part.dtype.isComplex && !dtype.isComplex && dtype.name !== "bool" ? part.real : part).to(dtype);
}

/** Dtypes without infinities make their largest number of all that is larger: from where on it is not its neighbour. */
const SATURATING: Record<string, number> = { float8_e4m3fn: 464 };

/** Whether a number became none, or one that is not near it. */
function leftRange(before: number, after: number, dtype: DType): boolean {
  if (dtype.category < 2) return after !== Math.trunc(before);
  if (Number.isNaN(before)) return false;
  const from = SATURATING[dtype.name];
  if (from !== undefined) return Math.abs(before) > from;
  return Number.isFinite(before) && !Number.isFinite(after);
}

/** How many elements a dtype has no value for: finite ones that it makes infinite or cuts off, integers that wrap. */
async function unfitting(tensor: Tensor, dtype: DType): Promise<number> {
  let count = 0;
  for (const piece of pieces(tensor._shape)) {
    await pause();
    const part = piece.of(tensor);
    const [x, y] = [numbersOf(part), numbersOf(inDtype(part, dtype))];
    const step = tensor.dtype.isComplex ? 2 : 1;
    const made = dtype.isComplex ? 2 : 1;
    for (let i = 0; i * step < x.length; i++) {
      const [before, after] = [x[i * step] as number, y[i * made] as number];
      const imaginary = step === 2 ? (x[i * 2 + 1] as number) : 0;
      const lost = leftRange(before, after, dtype);
      const lostImaginary =
        step === 2 && (made === 1 ? imaginary !== 0 : Number.isFinite(imaginary) && !Number.isFinite(y[i * 2 + 1]));
      if (lost || lostImaginary) count++;
    }
  }
  return count;
}

/** Whether a dtype has every value of another one, or one near it. */
function holdsAll(to: DType, from: DType): boolean {
  if (from.category === 0 || to.name === "complex128") return true;
  if (from.category > to.category) return false;
  const wide = to.itemsize / (to.isComplex ? 2 : 1) > from.itemsize / (from.isComplex ? 2 : 1);
  if (from.category === 1) return to.category > 1 ? to.itemsize > 2 : wide && (to.isSigned || !from.isSigned);
  return wide;
}

async function agreeToRange(found: readonly Found[], dtype: DType, from: string, lossy: boolean): Promise<void> {
  const lines: string[] = [];
  for (const { path, tensor } of found) {
    if (tensor.isMeta || holdsAll(dtype, tensor.dtype)) continue;
    const count = await unfitting(tensor, dtype);
    if (count > 0) lines.push(`  ${path.join(SEPARATOR)}: ${count} of ${counted(tensor.numel(), "element")}`);
  }
  if (lines.length === 0) return;
  const shown = [...lines.slice(0, 20), ...(lines.length > 20 ? [`  and ${lines.length - 20} more`] : [])].join("\n");
  const text = `${from}: ${dtype.name} has no value for some elements`;
  if (!lossy) throw new CliError(`${text}; nothing was written:\n${shown}\nPass --lossy to take what becomes of them.`);
  warn(`${text}:\n${shown}`);
}

const KINDS = ["boolean", "integer", "floating point", "complex"] as const;

/** The tensors that are cast: of the dtype's own kind, unless all are wanted. */
function candidates(td: Td, dtype: DType, { keys, all }: CastOptions): Found[] {
  const chosen = chosenIn(td, keysOption(keys));
  const fitting = all ? chosen : chosen.filter(({ tensor }) => tensor.dtype.category === dtype.category);
  if (fitting.length > 0) return fitting;
  const advice = all || chosen.length === 0 ? "" : " --all casts tensors of other kinds, too.";
  const kind = all ? "" : `${KINDS[dtype.category]} `;
  throw new CliError(
    `nothing to cast to ${dtype.name}: there is no ${kind}tensor${keys ? " among those named" : ""}.${advice}`,
  );
}

/** Stands for tensors until they are cast; those that lie in one place stay together. */
function outlinesOf(found: readonly Found[], dtype: DType): Map<Entry, Tensor> {
  const known = new Map<Storage, Map<string, Tensor>>();
  const outlines = new Map<Entry, Tensor>();
  for (const { tensor } of found) {
    const here = known.get(tensor._storage) ?? new Map<string, Tensor>();
    known.set(tensor._storage, here);
    const place = `${tensor._offset}:${tensor._shape}:${tensor._strides}:${tensor.dtype.name}:${tensor.requiresGrad}`;
    const made = here.get(place) ?? likeBefore(zeros([], { dtype }).expand(...tensor._shape), tensor);
    here.set(place, made);
    outlines.set(tensor, made);
  }
  return outlines;
}

function filling(found: readonly Found[], dtype: DType): Fill {
  return async (at, { signal, onProgress }) => {
    const done = new Set<Tensor>();
    for (const [i, { path, tensor }] of found.entries()) {
      const file = at(path);
      if (!done.has(file)) {
        const flat = file.reshape(-1);
        for (const piece of pieces(tensor._shape)) {
          const part = inDtype(piece.of(tensor), dtype).contiguous();
          await copyInto(flat.narrow(0, piece.begin, part.numel()), part, signal);
        }
      }
      done.add(file);
      onProgress?.(i + 1, found.length);
    }
  };
}

function toldOf(cast: readonly Found[], td: Td, dtype: DType): Told {
  const changed = new Set<unknown>(cast.map(({ tensor }) => tensor));
  const left = tensorsIn(td).flatMap(({ tensor }) => {
    if (changed.has(tensor)) return [];
    return [tensor instanceof Tensor ? tensor.dtype.name : `nested ${tensor.dtype.name}`];
  });
  const names = [...new Set(left)].sort().join(", ");
  const rest =
    left.length === 0 ? "" : `, ${left.length} left as ${left.length === 1 ? "it is" : "they are"} (${names})`;
  const facts = { dtype: dtype.name, cast: cast.map(({ path }) => path.join(SEPARATOR)), left: left.length };
  return { text: `${cast.length} cast to ${dtype.name}${rest}`, facts };
}

/** Writes a source with some of its tensors in another dtype. */
export async function cast(from: string, to: string, options: CastOptions): Promise<void> {
  const dtype = dtypeOption(options.dtype);
  const target = await openTarget(to, [from], options);
  const source = await openSource(from, options);
  const found = candidates(source.td, dtype, options).filter(({ tensor }) => tensor.dtype !== dtype);
  await agreeToRange(found, dtype, from, options.lossy === true);
  const td = replaceTensors(source.td, outlinesOf(found, dtype));
  const prepared = prepare({ ...source, td }, target);
  const withBytes = found.filter(({ tensor }) => !tensor.isMeta);
  const paths = withBytes.map(({ path }) => path);
  await placeFilled(target, prepared, paths, false, filling(withBytes, dtype));
  tellWritten(prepared, target, toldOf(found, source.td, dtype));
}
