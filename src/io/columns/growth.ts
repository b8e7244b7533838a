// How much of what a file claims is believed: small files that ask for all memory are refused before they have it.
import { FormatError } from "../base/errors.ts";

/** Bytes that a file of any size may ask for. */
const ALWAYS = 2 ** 28;
/** Bytes for each byte of a file: constant columns are far smaller in files than in memory. */
const PER_BYTE = 256;

/** Bytes that what a file holds may take. Whoever makes something larger than what it was made of spends them. */
export class Growth {
  private left: number;

  constructor(
    private size: number,
    private readonly path?: string,
  ) {
    this.left = ALWAYS + PER_BYTE * size;
  }

  /** Memory of the program's own, which needs no bound. */
  static free(): Growth {
    return new Growth(Number.POSITIVE_INFINITY);
  }

  /** More of the file has come. */
  more(bytes: number): void {
    this.size += bytes;
    this.left += PER_BYTE * bytes;
  }

  /**
   * @param what what they are for
   * @throws FormatError where it is more than is left
   */
  spend(bytes: number, what = "more memory than a file of its size can fill"): void {
    this.left -= bytes;
    if (this.left >= 0) return;
    throw new FormatError(`its ${this.size} bytes ask for too much: ${what}`, this.path);
  }
}
