/** Shapes. */

/** Sizes that were made of late, each in the place that its sizes name. */
const RECENT: (Size | undefined)[] = new Array(256).fill(undefined);

/** Where a Size has its plain list: test runners take an object with private members for one that matches no other. */
const PLAIN = Symbol("plain");

/**
 * A shape: a frozen array of sizes that prints as `torch.Size([2, 3])`.
 * @example
 * ```ts
 * const shape = zeros(2, 3).shape;
 * [shape, shape.length, shape[0], shape.slice(1)] // [torch.Size([2, 3]), 2, 2, [3]]
 * ```
 * @torch torch.Size
 */
export class Size extends Array<number> {
  // Sizes that a program takes by their places, `const [rows, columns] = x.shape`, are numbers without a check.
  /** The size of the first dimension. */ declare readonly 0: number;
  /** The size of the second dimension. */ declare readonly 1: number;
  /** The size of the third dimension. */ declare readonly 2: number;
  /** The size of the fourth dimension. */ declare readonly 3: number;
  /** The size of the fifth dimension. */ declare readonly 4: number;
  /** The size of the sixth dimension. */ declare readonly 5: number;
  /** The size of the seventh dimension. */ declare readonly 6: number;
  /** The size of the eighth dimension. */ declare readonly 7: number;
  /** The same sizes, not frozen: an element of a frozen list takes ten times as long to read. */
  declare private readonly [PLAIN]?: readonly number[];

  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
  /** A frozen Size of a list of sizes. Those of late are given again: freezing takes longer than all the rest. */
  static fromList(given: ArrayLike<number>): Size {
    const sizes = plainSizes(given);
    if (sizes !== given) return given as Size;
    const n = sizes.length;
    let place = n;
    for (let i = 0; i < n; i++) place = (Math.imul(place, 31) + (sizes[i] as number)) | 0;
    place &= RECENT.length - 1;
    const recent = RECENT[place];
    if (recent !== undefined && sameSizes(recent[PLAIN] as readonly number[], sizes)) return recent;
    const s = new Size(n);
    const plain = new Array<number>(n);
    for (let i = 0; i < n; i++) {
      s[i] = sizes[i] as number;
      plain[i] = sizes[i] as number;
    }
    Object.defineProperty(s, PLAIN, { value: plain });
    RECENT[place] = s;
    return Object.freeze(s) as Size;
  }
  /** Number of elements. @torch torch.Size.numel */
  numel(): number {
    return numelOf(plainSizes(this));
  }
  override toString(): string {
    return `torch.Size([${this.join(", ")}])`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** The same sizes in a list that is quick to read, never to be written to. */
export function plainSizes<L extends ArrayLike<number>>(sizes: L): L | readonly number[] {
  return sizes instanceof Size ? (sizes[PLAIN] ?? sizes) : sizes;
}

/** The shape of 0-dim tensors. */
export const SCALAR_SIZE = Size.fromList([]);

export function numelOf(sizes: ArrayLike<number>): number {
  let n = 1;
  for (let i = 0; i < sizes.length; i++) n *= sizes[i] as number;
  return n;
}

/** How many items the longest level of nested lists of a shape has: without values, too, there are lists. */
export function listItems(shape: readonly number[]): number {
  let [most, items] = [1, 1];
  for (const size of shape) {
    items *= size;
    most = Math.max(most, items);
  }
  return most;
}

/** The strides of every contiguous vector and of every tensor without dimensions. */
const OF_VECTORS: readonly number[] = [1];
const OF_SCALARS: readonly number[] = [];

/** Row-major strides; empty dimensions count as one. Never to be written to: those of vectors are shared. */
export function contiguousStrides(sizes: ArrayLike<number>): readonly number[] {
  const n = sizes.length;
  if (n < 2) return n === 0 ? OF_SCALARS : OF_VECTORS;
  const strides = new Array<number>(n);
  let step = 1;
  for (let i = n - 1; i >= 0; i--) {
    strides[i] = step;
    const size = sizes[i] as number;
    if (size > 1) step *= size;
  }
  return strides;
}

export function sameSizes(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a === b) return true;
  const n = a.length;
  if (n !== b.length) return false;
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** `[2, 3]`, as torch prints sizes in messages. */
export function listText(sizes: ArrayLike<number>): string {
  return `[${Array.prototype.join.call(sizes, ", ")}]`;
}
