// Element types of HDF5 files that no tensor has, in words, and whether their elements are bytes in one place.

import type { Hid } from "../../ffi/hdf5.ts";
import { describeType, type Identifiers, takeText } from "./hdf5-types.ts";

const TIME = 2;
const STRING = 3;
const BITS = 4;
const OPAQUE = 5;
const COMPOUND = 6;
const REFERENCE = 7;
const ENUM = 8;
const VARIABLE = 9;
const ARRAY = 10;
/** Bytes of a reference to an object, and to a region of one; others hold pointers in memory. */
const OBJECT_BYTES = 8;
const REGION_BYTES = 12;

/** Members and levels of a type that are looked at, and those that its words name. */
const MOST_MEMBERS = 10_000;
const MOST_LEVELS = 32;
const NAMED_MEMBERS = 16;
const NAME_LENGTH = 64;

/** What is known of a type. */
export interface TypeFacts {
  /** In words, as `compound {a: int32, b: float64}`. */
  text: string;
  /** All of an element is in its own bytes: there are no pointers in it. */
  flat: boolean;
  /** Its bytes say the same in another file. */
  portable: boolean;
}

function shortened(name: string): string {
  return name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}...` : name;
}

/** Looks at one type, with all that it is made of. */
/** Room for a number of an enumeration, in bytes; wider ones than 8 are not told. */
const LARGEST_ENUM = 16;

class Looking {
  #members = 0;

  constructor(private readonly ids: Identifiers) {}

  type(type: Hid, level = 0): TypeFacts {
    const { call } = this.ids.library;
    const size = Number(call.H5Tget_size(type));
    if (level > MOST_LEVELS) return { text: "...", flat: false, portable: false };
    const plain = (text: string): TypeFacts => ({ text, flat: true, portable: true });
    switch (call.H5Tget_class(type)) {
      case TIME:
        return plain(`time of ${size} bytes`);
      case BITS:
        return plain(`bit field of ${size} bytes`);
      case STRING:
        if (this.ids.check(call.H5Tis_variable_str(type)) === 0) return plain(`text of ${size} bytes`);
        return { text: "text", flat: false, portable: false };
      case OPAQUE:
        return plain(this.opaque(type, size));
      case REFERENCE:
        if (size === REGION_BYTES) return { text: "region reference", flat: true, portable: false };
        return { text: "reference", flat: size === OBJECT_BYTES, portable: false };
      case ENUM:
        return plain(`enumeration ${this.inner(type, level).text} ${this.names(type)}`);
      case VARIABLE:
        return { text: `variable-length ${this.inner(type, level).text}`, flat: false, portable: false };
      case ARRAY: {
        const { text, ...rest } = this.inner(type, level);
        const sizes = new BigUint64Array(Math.max(1, this.ids.check(call.H5Tget_array_ndims(type))));
        this.ids.check(call.H5Tget_array_dims2(type, sizes));
        return { text: `array ${text}[${sizes.join(", ")}]`, ...rest };
      }
      case COMPOUND:
        return this.compound(type, level);
      default:
        return plain(this.number(type, size));
    }
  }

  private inner(type: Hid, level: number): TypeFacts {
    using ids = this.ids.others();
    return this.type(ids.keep(this.ids.library.call.H5Tget_super(type)), level + 1);
  }

  private opaque(type: Hid, size: number): string {
    const tag = takeText(this.ids, this.ids.library.call.H5Tget_tag(type));
    return `opaque ${tag === "" ? "" : `${JSON.stringify(shortened(tag))} `}of ${size} bytes`;
  }

  private number(type: Hid, size: number): string {
    const { dtype, typeName } = describeType(this.ids, type);
    return dtype?.name ?? `${typeName} of ${size} bytes`;
  }

  private compound(type: Hid, level: number): TypeFacts {
    const { call } = this.ids.library;
    const count = this.ids.check(call.H5Tget_nmembers(type));
    const words: string[] = [];
    let [flat, portable] = [true, true];
    for (let i = 0; i < count; i++) {
      if (++this.#members > MOST_MEMBERS) return { text: `compound of ${count} members`, flat: false, portable: false };
      using ids = this.ids.others();
      const found = this.type(ids.keep(call.H5Tget_member_type(type, i)), level + 1);
      flat &&= found.flat;
      portable &&= found.portable;
      if (i < NAMED_MEMBERS) words.push(`${shortened(takeText(ids, call.H5Tget_member_name(type, i)))}: ${found.text}`);
    }
    return { text: `compound {${listed(words, count)}}`, flat, portable };
  }

  /** The names of an enumeration, each with its number, without which elements say nothing. */
  private names(given: Hid): string {
    const { call } = this.ids.library;
    using ids = this.ids.others();
    // This processor has no number like those of some files.
    const native = call.H5Tget_native_type(given, 0);
    const type = native < 0n ? given : ids.keep(native);
    const signed = call.H5Tget_sign(ids.keep(call.H5Tget_super(type))) !== 0;
    const bits = 8 * Number(call.H5Tget_size(type));
    const count = this.ids.check(call.H5Tget_nmembers(type));
    const words = Array.from({ length: Math.min(count, NAMED_MEMBERS) }, (_, i) => {
      const name = shortened(takeText(ids, call.H5Tget_member_name(type, i)));
      const room = new BigUint64Array(LARGEST_ENUM / 8);
      if (bits > 64 || call.H5Tget_member_value(type, i, new Uint8Array(room.buffer)) < 0) return name;
      const value = room[0] as bigint;
      return `${name} = ${signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)}`;
    });
    return `{${listed(words, count)}}`;
  }
}

function listed(words: readonly string[], count: number): string {
  const more = count > words.length ? [`${count - words.length} more`] : [];
  return [...words, ...more].join(", ");
}

/** What is known of a type that no tensor has. */
export function factsOf(ids: Identifiers, type: Hid): TypeFacts {
  return new Looking(ids).type(type);
}

/** The type as bytes that a file can be made with. */
export function encodedType(ids: Identifiers, type: Hid): Uint8Array {
  const { call } = ids.library;
  const size = new BigUint64Array(1);
  ids.check(call.H5Tencode(type, null, size));
  const bytes = new Uint8Array(Number(size[0]));
  ids.check(call.H5Tencode(type, bytes, size));
  return bytes;
}

/** The type that `encodedType` gave the bytes of. */
export function decodedType(ids: Identifiers, bytes: Uint8Array): Hid {
  const { H5Tdecode1, H5Tdecode } = ids.library.optional;
  const decode = H5Tdecode1 ?? H5Tdecode;
  if (decode === undefined) throw ids.failure();
  return ids.keep(decode(bytes));
}
