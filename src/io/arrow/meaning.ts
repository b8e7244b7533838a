// Columns whose numbers mean something else than they are: decimals become float64, times int64 nanoseconds.
import { FormatError } from "../base/errors.ts";
import type { Growth } from "../columns/growth.ts";
import { decimalNumber, nanoseconds, wideNumber } from "../columns/meaning.ts";
import { type ArrowData, type ArrowField, type ArrowType, extensionOf, isList, KIND } from "./types.ts";

const FLOAT64: ArrowType = { typeId: KIND.float, precision: 2, toString: () => "float64" };
const INT64: ArrowType = { typeId: KIND.int, bitWidth: 64, isSigned: true, toString: () => "int64" };
const BOOL: ArrowType = { typeId: KIND.bool, toString: () => "bool" };

/** Whether something has to be changed in data of a type. */
function isChanged(type: ArrowType, field: ArrowField | null): boolean {
  const { typeId } = type;
  if (typeId === KIND.decimal || typeId === KIND.time || typeId === KIND.duration) return true;
  if (typeId === KIND.int) return type.bitWidth === 8 && extensionOf(field) === "arrow.bool8";
  const inner = isList(type) ? type.children?.[0] : undefined;
  return inner !== undefined && isChanged(inner.type, inner);
}

function short(path?: string): FormatError {
  return new FormatError("its Arrow data is not valid: a column has no buffer", path);
}

/** The same rows with numbers that are what they mean; lists of them too. */
export function withMeaning(data: ArrowData, field: ArrowField | null, growth: Growth, path?: string): ArrowData {
  const { type, length, values } = data;
  if (!isChanged(type, field)) return data;
  if (isList(type)) {
    const [inner] = type.children as [ArrowField];
    const child = withMeaning(data.children[0] as ArrowData, inner, growth, path);
    const children = [{ name: inner.name, metadata: inner.metadata, type: child.type }];
    const { typeId, listSize } = type;
    return { ...shallow(data), type: { typeId, listSize: listSize as number, children }, children: [child] };
  }
  growth.spend(8 * length);
  if (type.typeId === KIND.decimal) {
    const words = (type.bitWidth ?? 128) >> 5;
    if ((values?.length ?? 0) < length * words) throw short(path);
    const out = new Float64Array(length);
    for (let i = 0; i < length; i++) {
      out[i] = decimalNumber(wideNumber(values as Uint32Array, i * words, words), type.scale ?? 0);
    }
    return { ...shallow(data), type: FLOAT64, values: out };
  }
  if ((values?.length ?? 0) < length) throw short(path);
  if (type.typeId === KIND.int) {
    const bits = new Uint8Array((data.offset + length + 7) >> 3);
    for (let i = 0; i < length; i++) {
      const at = data.offset + i;
      if (values?.[i] !== 0) bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7));
    }
    return { ...shallow(data), type: BOOL, values: bits };
  }
  const { nullBitmap, nullCount, offset } = data;
  const valid = (row: number) =>
    nullCount === 0 ||
    nullBitmap === undefined ||
    (((nullBitmap[(offset + row) >> 3] ?? 0) >> ((offset + row) & 7)) & 1) === 1;
  const times = nanoseconds((values ?? []) as ArrayLike<bigint>, length, type.unit ?? 0, path, valid);
  return { ...shallow(data), type: INT64, values: times };
}

/** What of data is looked at here; some of it the package computes when it is asked. */
function shallow(data: ArrowData): ArrowData {
  const { type, length, offset, nullCount, values, valueOffsets, nullBitmap, children } = data;
  return { type, length, offset, nullCount, values, valueOffsets, nullBitmap, children };
}
