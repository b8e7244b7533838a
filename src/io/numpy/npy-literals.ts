// The literals of Python's that headers of .npy files consist of: read by a parser for just what occurs.
import { FormatError } from "../base/errors.ts";

const MAX_RANK = 64;
/** Deepest nesting of records. */
const MAX_RECORDS = 32;

/** Types of elements: numbers of the sizes that NumPy has, dates with their unit, texts and bytes, objects. */
const CODE = new RegExp(
  "^[<>|=]?(?:(?<kind>[?O]|b(?=1$)|[iu](?=[1248]$)|f(?=(?:2|4|8|12|16)$)|c(?=(?:8|16|24|32)$)|[Mm](?=8)|[SUVa])" +
    "(?<size>[0-9]{0,15}))(?:\\[[^\\]]{0,64}\\])?$",
);

/** The type of elements as a header has it. */
export interface NpyDescr {
  text: string;
  /** NumPy's letter; V for records. */
  kind: string;
  /** Bytes of an element. */
  itemsize: number;
  /** There are pickled objects in it. */
  objects: boolean;
}

/** What a header says. */
export interface NpyFields {
  descr: NpyDescr;
  fortranOrder: boolean;
  shape: number[];
}

/** Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. */
export class NpyLiterals {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly path: string,
  ) {}

  document(): NpyFields {
    const found = new Map<string, unknown>();
    this.expect("{");
    while (!this.take("}")) {
      const key = this.string();
      if (found.has(key)) throw this.bad(`the key '${key}' occurs twice`);
      this.expect(":");
      found.set(key, this.value(key));
      if (!this.take(",")) {
        this.expect("}");
        break;
      }
    }
    this.skip();
    if (this.at !== this.text.length) throw this.bad("it goes on after its end");
    const [descr, fortranOrder, shape] = ["descr", "fortran_order", "shape"].map((key) => found.get(key));
    if (found.size !== 3 || descr === undefined || fortranOrder === undefined || shape === undefined) {
      throw this.bad("its keys are not descr, fortran_order and shape");
    }
    return { descr, fortranOrder, shape } as NpyFields;
  }

  private value(key: string): unknown {
    switch (key) {
      case "descr":
        return this.descr(0);
      case "fortran_order":
        if (this.take("True")) return true;
        this.expect("False");
        return false;
      case "shape":
        return this.tuple();
      default:
        throw this.bad(`the key ${JSON.stringify(key)} is not known`);
    }
  }

  /** The type of elements: a code, or a list of the fields of a record. */
  private descr(depth: number): NpyDescr {
    if (depth > MAX_RECORDS) throw this.bad(`records are nested more than ${MAX_RECORDS} levels deep`);
    const from = this.skip();
    if (!this.take("[")) return this.code();
    const whole = { kind: "V", itemsize: 0, objects: false };
    while (!this.take("]")) {
      const { itemsize, objects } = this.field(depth);
      whole.itemsize += itemsize;
      whole.objects ||= objects;
      if (this.take(",")) continue;
      this.expect("]");
      break;
    }
    return { text: this.text.slice(from, this.at), ...whole };
  }

  /** `('name', type)`, or with a shape; a title and a name are a pair. */
  private field(depth: number): { itemsize: number; objects: boolean } {
    this.expect("(");
    if (this.take("(")) {
      this.name();
      this.expect(",");
      this.name();
      this.expect(")");
    } else this.name();
    this.expect(",");
    const { itemsize, objects } = this.descr(depth + 1);
    const counts = this.take(",") && !this.peek(")") ? this.tuple() : [];
    this.take(",");
    this.expect(")");
    return { itemsize: counts.reduce((product, n) => product * n, itemsize), objects };
  }

  private code(): NpyDescr {
    const text = this.string();
    const match = CODE.exec(text);
    if (match === null) throw this.bad(`the type ${JSON.stringify(text)} is not known`);
    const { kind, size } = match.groups as { kind: string; size: string };
    const units = kind === "U" ? 4 : 1;
    const fixed: Readonly<Record<string, number>> = { "?": 1, M: 8, m: 8, O: 0 };
    return { text, kind, itemsize: fixed[kind] ?? units * Number(size), objects: kind === "O" };
  }

  private tuple(): number[] {
    const sizes: number[] = [];
    this.expect("(");
    while (!this.take(")")) {
      const [digits] = this.match(/[0-9]{1,16}L?/y, "a size");
      const n = Number.parseInt(digits, 10);
      if (!Number.isSafeInteger(n)) throw this.bad("a size is too large");
      if (sizes.push(n) > MAX_RANK) throw this.bad(`it has more than ${MAX_RANK} dimensions`);
      if (this.take(",")) continue;
      // One size without a comma is no tuple.
      if (sizes.length === 1) throw this.bad("its shape is no tuple");
      this.expect(")");
      break;
    }
    return sizes;
  }

  private string(): string {
    const [quoted] = this.match(/'[^'\\\n]*'|"[^"\\\n]*"/y, "a text");
    return quoted.slice(1, -1);
  }

  /** The name of a field may be any text. */
  private name(): void {
    this.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/y, "a name");
  }

  private match(pattern: RegExp, what: string): RegExpExecArray {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) throw this.bad(`${what} is expected at ${this.at}`);
    this.at = pattern.lastIndex;
    return found;
  }

  private take(token: string): boolean {
    this.skip();
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private peek(token: string): boolean {
    this.skip();
    return this.text.startsWith(token, this.at);
  }

  private expect(token: string): void {
    if (!this.take(token)) throw this.bad(`'${token}' is expected at ${this.at}`);
  }

  private skip(): number {
    while (this.at < this.text.length && " \t\r\n".includes(this.text[this.at] as string)) this.at++;
    return this.at;
  }

  private bad(what: string): FormatError {
    return new FormatError(`its header cannot be read: ${what}`, this.path);
  }
}
