// What is where in an HDF5 file: paths, links and the objects that they lead to. A group that was listed is kept by
// its address in the file, so that a path through it asks the library for nothing, and many links are read once.
import { addressIn, type Hdf5Library, type Hdf5Link, type Hid, linkIn, linksOf } from "../../ffi/hdf5.ts";
import { FormatError, OSError } from "../base/errors.ts";
import { cText, Identifiers } from "./hdf5-types.ts";

/** What `H5Iget_type` calls a group and a dataset. */
export const IS_GROUP = 2;
export const IS_DATASET = 5;
const LINK_HARD = 0;
const LINK_SOFT = 1;
const MAX_LINKS = 16;
const MAX_LINK_BYTES = 64 * 1024;
/** Bytes of a file that a link takes at least. */
const LINK_BYTES = 8;
/** Links that are kept of all groups together. */
const MOST_KEPT = 1_000_000;

/** An object of the file. */
export interface Found {
  /** A path to it without symbolic links. */
  path: string;
  /** Where in the file it is; null when the library does not say. */
  address: bigint | null;
}

/** What is kept is right until something in any open file gets or loses a name. */
let generation = 0;

/** The links of an open file. */
export class Links {
  #generation = -1;
  #root: Found = { path: "", address: null };
  readonly #listings = new Map<bigint, ReadonlyMap<string, Hdf5Link>>();
  readonly #types = new Map<bigint, number>();
  #kept = 0;

  constructor(
    private readonly library: Hdf5Library,
    private readonly file: Hid,
    private readonly path: string,
    private readonly failure: () => Error,
  ) {}

  /** To be called before names are given or taken, or a dataset gets another shape. */
  changed(): void {
    generation++;
  }

  /** Another number after every change. */
  get generation(): number {
    return generation;
  }

  #refresh(): void {
    if (this.#generation === generation) return;
    this.#generation = generation;
    this.#forget();
    using ids = this.#ids();
    const root = ids.keep(this.library.call.H5Oopen(this.file, cText("/"), 0n));
    this.#root = { path: "", address: addressIn(this.library, root) };
  }

  #forget(): void {
    this.#listings.clear();
    this.#types.clear();
    this.#kept = 0;
  }

  #ids(): Identifiers {
    return new Identifiers(this.library, this.failure);
  }

  /** Opens an object. */
  open(ids: Identifiers, { path, address }: Found): Hid {
    const { call, optional } = this.library;
    const byAddress = address === null ? undefined : optional.H5Oopen_by_addr;
    if (byAddress !== undefined) return ids.keep(byAddress(this.file, address as bigint));
    return ids.keep(call.H5Oopen(this.file, cText(path === "" ? "/" : path), 0n));
  }

  /** What kind of object it is, in the library's numbers. */
  type(found: Found): number {
    const known = found.address === null ? undefined : this.#types.get(found.address);
    if (known !== undefined) return known;
    using ids = this.#ids();
    const type = this.library.call.H5Iget_type(this.open(ids, found));
    if (found.address !== null) this.#types.set(found.address, type);
    return type;
  }

  /**
   * The object at a path; null when something on it is missing. Links into other files are refused, or counted among
   * what is missing when `lenient`.
   */
  find(path: string, lenient = false): Found | null {
    this.#refresh();
    const rest = path.split("/").filter((part) => part !== "");
    let at = this.#root;
    let links = 0;
    while (rest.length > 0) {
      const name = rest.shift() as string;
      const next = `${at.path}/${name}`;
      const link = this.#link(at, name, next);
      if (link === null) return null;
      if (link.type === LINK_HARD) at = { path: next, address: link.address };
      else if (link.type === LINK_SOFT && ++links <= MAX_LINKS) {
        const target = this.#softTarget(next, link.size);
        rest.unshift(...target.split("/").filter((part) => part !== "" && part !== "."));
        if (target.startsWith("/")) at = this.#root;
      } else {
        if (lenient) return null;
        const problem =
          link.type === LINK_SOFT ? "is a circle of links" : "is a link into another file, which is not followed";
        throw new FormatError(`${next} ${problem}`, this.path);
      }
      if (rest.length > 0 && this.type(at) !== IS_GROUP) return null;
    }
    return at;
  }

  #link(at: Found, name: string, next: string): Hdf5Link | null {
    const listed = at.address === null ? undefined : this.#listings.get(at.address);
    if (listed !== undefined) return listed.get(name) ?? null;
    const { call, optional } = this.library;
    const there = call.H5Lexists(this.file, cText(next), 0n);
    if (there < 0) throw this.failure();
    if (there === 0) return null;
    const record = new BigUint64Array(8);
    const get = optional.H5Lget_info2 ?? optional.H5Lget_info;
    if (get === undefined) throw new OSError(`${this.library.name} lacks H5Lget_info`, { path: this.path });
    if (get(this.file, cText(next), record, 0n) < 0) throw this.failure();
    return linkIn(record);
  }

  #softTarget(path: string, size: number): string {
    if (!(size > 0 && size <= MAX_LINK_BYTES))
      throw new FormatError(`the link ${path} is ${size} bytes long`, this.path);
    const bytes = new Uint8Array(size + 1);
    if (this.library.call.H5Lget_val(this.file, cText(path), bytes, size, 0n) < 0) throw this.failure();
    return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString("utf8");
  }

  /** The names of a group's links, in the order of h5py. */
  names(group: Found, fileSize: number): Iterable<string> {
    return this.#listing(group, fileSize).keys();
  }

  #listing(group: Found, fileSize: number): ReadonlyMap<string, Hdf5Link> {
    const kept = group.address === null ? undefined : this.#listings.get(group.address);
    if (kept !== undefined) return kept;
    using ids = this.#ids();
    const most = Math.ceil(fileSize / LINK_BYTES);
    const links = linksOf(this.library, this.open(ids, group), most);
    if (links === null) throw this.failure();
    if (group.address === null) return links;
    if (this.#kept + links.size > MOST_KEPT) this.#forget();
    this.#kept += links.size;
    this.#listings.set(group.address, links);
    return links;
  }
}
