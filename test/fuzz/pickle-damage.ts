// Damage to pickles that keeps their shape: opcodes become others with the same effect on the stack, operands lie.
import { type Choices, hostileNumbers } from "./choices.ts";

/** Opcodes by what follows them. */
const OPERANDS: readonly [codes: string, operand: number | "line" | "lines" | "text1" | "text4" | "text8"][] = [
  ["(.012NRQabdeloestu)]}\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98", 0],
  ["Khq\x80\x82", 1],
  ["M\x83", 2],
  ["Jrj\x84", 4],
  ["G\x95", 8],
  ["ILFSVpgP", "line"],
  ["ci", "lines"],
  ["UC\x8a\x8c", "text1"],
  ["TBX\x8b", "text4"],
  ["\x8d\x8e\x96", "text8"],
];

const KINDS = new Map(OPERANDS.flatMap(([codes, operand]) => [...codes].map((code) => [code, operand] as const)));

/** Opcodes that put the same number of values on the stack, or take as many away. */
const ALIKE = ["N\x88\x89]})\x8f", "aRb\x86\x810\x93", "s\x87\x92", "Q\x85", "tld\x91", "eu\x90"];

/** What can stand where a value is put on the stack. */
const VALUES = [
  "N",
  "\x88",
  "]",
  "}",
  ")",
  "\x8f",
  "K\x07",
  "J\xff\xff\xff\xff",
  "M\xff\xff",
  "G\x7f\xf8\0\0\0\0\0\0",
  "G\x3f\xf8\0\0\0\0\0\0",
  "\x8a\x09\0\0\0\0\0\0\0\0\x01",
  "X\x03\0\0\0cpu",
  "X\x00\0\0\0",
  "h\x00",
  "h\x01",
  "h\x05",
  "cbuiltins\neval\n",
  "ctorch\nfloat32\n",
  "ctorch\nFloatStorage\n",
  "ccollections\nOrderedDict\n",
  "ctorch\nSize\n",
  "ctorch\ndevice\n",
];
/** Texts are at most so long when they grow. */
const LONG = 300;

interface Opcode {
  code: string;
  /** The bytes of it, with what follows. */
  bytes: Buffer;
}

function operandLength(bytes: Buffer, at: number, kind: number | string): number {
  const line = (from: number) => {
    const end = bytes.indexOf(10, from);
    return end < 0 ? Number.POSITIVE_INFINITY : end + 1 - from;
  };
  if (typeof kind === "number") return kind;
  if (kind === "line") return line(at);
  if (kind === "lines") return line(at) + line(at + line(at));
  const width = Number(kind.slice(4));
  return at + width > bytes.length ? Number.POSITIVE_INFINITY : width + bytes.readUIntLE(at, Math.min(width, 6));
}

/** The opcodes of one pickle or several, and the bytes behind them that are none. */
function taken(bytes: Buffer): { opcodes: Opcode[]; rest: Buffer } {
  const opcodes: Opcode[] = [];
  let at = 0;
  while (at < bytes.length) {
    const code = String.fromCharCode(bytes[at] as number);
    const kind = KINDS.get(code);
    // After an end only another beginning is a pickle.
    if (kind === undefined || (opcodes.at(-1)?.code === "." && code !== "\x80")) break;
    const end = at + 1 + operandLength(bytes, at + 1, kind);
    if (end > bytes.length) break;
    opcodes.push({ code, bytes: bytes.subarray(at, end) });
    at = end;
  }
  return { opcodes, rest: bytes.subarray(at) };
}

function made(text: string): Opcode {
  return { code: text[0] as string, bytes: Buffer.from(text, "latin1") };
}

/** Another number or text after the same opcode, with a length that fits. */
function otherOperand({ code, bytes }: Opcode, choices: Choices, opcodes: readonly Opcode[]): Buffer {
  const kind = KINDS.get(code);
  const same = choices.pick(opcodes.filter((other) => KINDS.get(other.code) === kind));
  if (choices.below(3) === 0) return Buffer.concat([bytes.subarray(0, 1), same.bytes.subarray(1)]);
  const copy = Buffer.from(bytes);
  if (typeof kind === "number") {
    const wide = Buffer.alloc(8);
    const near = BigInt(bytes[1] as number) + BigInt(choices.pick([1, -1, 2, 4, 64]));
    wide.writeBigInt64LE(choices.below(2) === 0 ? near : choices.pick(hostileNumbers(256)));
    wide.copy(copy, 1, 0, kind);
    return copy;
  }
  if (kind === "line" || kind === "lines") {
    const texts = ["-1", "0", "99999999999999999999", "nan", "os", "builtins\neval", "torch\nFloatStorage", "L", ""];
    const text = choices.pick(texts) + (kind === "lines" && choices.below(2) === 0 ? "\nload" : "");
    return Buffer.from(`${code}${text}\n`, "latin1");
  }
  const width = Number((kind as string).slice(4));
  const text = Buffer.from(
    choices.pick(["", "cpu", "cuda:0", "../x", "__proto__", "é", "\xff\0", "0", "1", "x".repeat(LONG)]),
    choices.below(2) === 0 ? "utf8" : "latin1",
  ).subarray(0, width === 1 ? 254 : LONG);
  const length = Buffer.alloc(width);
  length.writeUIntLE(choices.below(4) === 0 ? text.length + 1 : text.length, 0, Math.min(width, 6));
  return Buffer.concat([bytes.subarray(0, 1), length, text]);
}

function change(opcodes: Opcode[], choices: Choices): void {
  const at = choices.below(opcodes.length);
  const opcode = opcodes[at] as Opcode;
  const kind = choices.below(10);
  const alike = ALIKE.find((codes) => codes.includes(opcode.code));
  if (kind < 3 && alike !== undefined) {
    opcodes[at] = made(choices.pick([...alike]));
  } else if (kind < 6 && opcode.bytes.length > 1) {
    opcodes[at] = { code: opcode.code, bytes: otherOperand(opcode, choices, opcodes) };
  } else if (kind < 8 && KINDS.get(opcode.code) !== 0 && !"pqr\x80\x95".includes(opcode.code)) {
    opcodes[at] = made(choices.pick(VALUES));
  } else if (kind === 8) {
    const length = choices.pick([1, 1, 2, 5]);
    const part = opcodes.slice(at, at + length);
    const to = choices.below(4) === 0 ? choices.below(opcodes.length) : at;
    opcodes.splice(to, 0, ...part);
    choices.done.push(`${part.length} opcodes again at ${to}`);
  } else if (kind === 9) {
    opcodes.splice(at, 1);
  } else {
    const next = opcodes[at + 1];
    if (next !== undefined) opcodes.splice(at, 2, next, opcode);
  }
  const [was, is] = [opcode, opcodes[at]].map((one) => JSON.stringify(one?.bytes.toString("latin1").slice(0, 30)));
  choices.done.push(`opcode ${at}, ${was}, becomes ${is}`);
}

/** A pickle, or several one after the other, of which one to three opcodes are changed. */
export function damagedPickle(bytes: Uint8Array, choices: Choices): Uint8Array {
  const { opcodes, rest } = taken(Buffer.from(bytes));
  for (let i = choices.pick([0, 0, 0, 1, 2]); i >= 0 && opcodes.length > 0; i--) change(opcodes, choices);
  return Buffer.concat([...opcodes.map((opcode) => opcode.bytes), rest]);
}
