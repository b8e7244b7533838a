/** A few named numbers for the golden emits. */
import type { CodesRow } from "../../../codegen/model/types.ts";

export const job = [
  { name: "path", doc: "Where." },
  { name: "file_size", doc: "How much." },
] as const;

export const codes = [
  {
    name: "LampFlag",
    family: "lamps",
    type: "u32",
    doc: "Bits of a lamp.",
    values: { on: 1, is_warm: 2 },
    docs: { is_warm: "Yellow." },
  },
  { name: "LampStatus", family: "files", type: "f64", doc: "Why it is dark.", values: { no_bulb: -10001 } },
  { name: "LampMode", family: "call", type: "enum(u8)", doc: "How it shines.", values: { steady: 0, blinking: 1 } },
] as const satisfies readonly CodesRow[];
