// Values of a stack in one array, which its slices and members share: a window tells which of them a stack has.
import { type PythonJson, toPlain } from "../../io/base/python-json.ts";
import { contiguousStrides, numelOf } from "../../tensor/size.ts";
import { isContiguousGeometry, type Tensor } from "../../tensor/tensor.ts";
import { positionsIn } from "./tensor-ops.ts";
import type { Classes } from "./types.ts";

/** A wrapped value for one element. */
type Cell = Classes<unknown>["nonTensor"];

/** One value for each position; from the moment somebody is given a position's wrapped value, that has it. */
export class ValueStore {
  readonly #values: unknown[];
  /** What a file has for each value, as long as that is the value. */
  #raws: readonly PythonJson[] | null = null;
  readonly #cells = new Map<number, Cell>();
  #positions: Tensor | null = null;
  /** What keeps files current, of the stacks that share the values. */
  readonly listeners = new Set<() => void>();
  /** Called after values were replaced in place. */
  readonly changed = (): void => {
    for (const listener of this.listeners) listener();
  };

  constructor(values: readonly unknown[]) {
    this.#values = [...values];
  }

  get length(): number {
    return this.#values.length;
  }

  /** The numbers of all positions, on the CPU: views of it are windows. */
  get positions(): Tensor {
    this.#positions ??= positionsIn([this.length]);
    return this.#positions;
  }

  at(position: number): unknown {
    const cell = this.#cells.get(position);
    return cell === undefined ? this.#values[position] : cell.value_;
  }

  put(position: number, value: unknown): void {
    const cell = this.#cells.get(position);
    if (cell === undefined) this.#values[position] = value;
    else cell.value_ = value;
  }

  /** A copy of all values. */
  all(): unknown[] {
    const values = this.#values.slice();
    for (const [position, cell] of this.#cells) values[position] = cell.value_;
    return values;
  }

  /** What a file has for the value; undefined when it is another one since. */
  rawAt(position: number): PythonJson | undefined {
    const cell = this.#cells.get(position);
    if (cell !== undefined) return cell._raw;
    const raw = this.#raws?.[position];
    return raw !== undefined && Bun.deepEquals(toPlain(raw), this.#values[position], true) ? raw : undefined;
  }

  /** Whether a file may have something for its values. */
  get hasRaws(): boolean {
    return this.#raws !== null || this.#cells.size > 0;
  }

  setRaws(raws: readonly PythonJson[]): void {
    this.#raws = raws;
    for (const [position, cell] of this.#cells) cell._raw = raws[position];
  }

  /** The wrapped value of a position, the same one for all who ask. */
  cellAt(position: number, make: (value: unknown) => Cell): Cell {
    let cell = this.#cells.get(position);
    if (cell === undefined) {
      cell = make(this.#values[position]);
      cell._raw = this.#raws?.[position];
      cell._onChange = this.changed;
      this.#cells.set(position, cell);
      // The cell has it from now on.
      this.#values[position] = undefined;
    }
    return cell;
  }

  /** The wrapped values that somebody was given, by position. */
  get cells(): ReadonlyMap<number, Cell> {
    return this.#cells;
  }
}

/** The values that a stack has of a store: those at the positions of a strided view of all. */
export class ValueWindow {
  constructor(
    readonly store: ValueStore,
    readonly sizes: readonly number[],
    private readonly strides: readonly number[],
    private readonly offset: number,
  ) {}

  /** All values of a new store as a batch of this shape, row-major. */
  static of(values: readonly unknown[], sizes: readonly number[]): ValueWindow {
    return new ValueWindow(new ValueStore(values), [...sizes], contiguousStrides(sizes), 0);
  }

  /** What a change of shape made of the numbers of its positions, as a window; null for anything but a view of them. */
  moved(positions: Tensor): ValueWindow | null {
    if (positions._storage !== this.store.positions._storage) return null;
    return new ValueWindow(this.store, [...positions._shape], [...positions._strides], positions._offset);
  }

  /** The numbers of its positions. */
  get positions(): Tensor {
    return this.store.positions.asStrided(this.sizes, this.strides, this.offset);
  }

  get count(): number {
    return numelOf(this.sizes);
  }

  /** The position of the only value of a window without dimensions. */
  get first(): number {
    return this.offset;
  }

  /** Whether it is all of its store, in order. */
  private get isWhole(): boolean {
    const { sizes, strides, offset, store } = this;
    return offset === 0 && this.count === store.length && isContiguousGeometry(sizes, strides);
  }

  /** Its positions, row-major. */
  list(): number[] {
    const { sizes, strides } = this;
    const found: number[] = [];
    const walk = (dim: number, at: number): void => {
      if (dim === sizes.length) found.push(at);
      else for (let i = 0; i < (sizes[dim] as number); i++) walk(dim + 1, at + i * (strides[dim] as number));
    };
    walk(0, this.offset);
    return found;
  }

  /** A copy of its values, row-major. */
  values(): unknown[] {
    return this.isWhole ? this.store.all() : this.list().map((position) => this.store.at(position));
  }

  /** What a file has for each of its values; null where that is not known of all. */
  raws(): PythonJson[] | null {
    const found: PythonJson[] = [];
    if (!this.store.hasRaws) return null;
    for (const position of this.list()) {
      const raw = this.store.rawAt(position);
      if (raw === undefined) return null;
      found.push(raw);
    }
    return found;
  }

  /** The same for all of them. False, and nothing is noted, for a part of a store, or another number of values. */
  setRaws(raws: readonly PythonJson[]): boolean {
    if (!this.isWhole || raws.length !== this.count) return false;
    this.store.setRaws(raws);
    return true;
  }

  /** Copies of the values at some positions, in a store of their own. */
  chosen(positions: readonly number[], sizes: readonly number[]): ValueWindow {
    const { store } = this;
    const copy = ValueWindow.of(
      positions.map((position) => store.at(position)),
      sizes,
    );
    const raws = store.hasRaws ? positions.map((position) => store.rawAt(position)) : [undefined];
    if (raws.every((raw) => raw !== undefined)) copy.setRaws(raws);
    return copy;
  }

  /** The part at one index of a dimension. */
  select(dim: number, index: number): ValueWindow {
    const { store, sizes, strides, offset } = this;
    const rest = <T>(list: readonly T[]) => list.filter((_, i) => i !== dim);
    return new ValueWindow(store, rest(sizes), rest(strides), offset + index * (strides[dim] as number));
  }

  /** The wrapped values that somebody was given of it. */
  cells(): Cell[] {
    const { cells } = this.store;
    if (cells.size === 0) return [];
    return this.list().flatMap((position) => cells.get(position) ?? []);
  }
}
