// Random choices of damage: the same seed chooses in the same way.
import { randomNumbers } from "../io/archive-files.ts";

/** Random choices. */
export class Choices {
  private readonly next: () => number;
  /** What was done, for messages. */
  readonly done: string[] = [];

  constructor(seed: number) {
    this.next = randomNumbers(seed);
    this.next();
  }

  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return bound < 1 ? 0 : this.next() % bound;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Numbers that readers may take for sizes, places or counts of something of that many bytes. */
export function hostileNumbers(size: number): bigint[] {
  const sizes = [size - 1, size, size + 1, size >> 1].map(BigInt);
  return [0n, 1n, -1n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 62n, 2n ** 63n - 1n, ...sizes];
}
