// Takes CSV text apart, each character once, as pandas does: what comes behind a closing quote belongs to the field.

/** Where in a field the text is. */
const START = 0;
const PLAIN = 1;
const QUOTED = 2;
/** Behind a quote within quotes: the end of the field, or the first of two that are one. */
const QUOTE = 3;

const LINE_FEED = 10;
const RETURN = 13;

/** What takes rows: their fields, how many there are (of which `most` are kept), whether one has quotes. */
export type RowTaker = (fields: string[], count: number, quoted: boolean) => void;

/** Rows of a text that comes in pieces. */
export class CsvSplitter {
  private state = START;
  private fields: string[] = [];
  private count = 0;
  private quoted = false;
  /** What of the current field came in earlier pieces. */
  private begun = "";
  /** How many characters of the current field stand before its closing quote; -1 where it has none. */
  private close = -1;
  /** Characters that the next piece is needed for. */
  private rest = "";

  /** @param most fields of a row that are kept */
  constructor(
    private readonly separator: string,
    private readonly quote: string,
    private readonly take: RowTaker,
    public most: number,
  ) {}

  /** Whether the text ends within quotes. */
  get isOpen(): boolean {
    return this.state === QUOTED;
  }

  /** Characters of the field that is not complete. */
  get waiting(): number {
    return this.begun.length;
  }

  /** Takes a piece; the last one ends the last row. Stops where `isDone` says so. */
  push(piece: string, last: boolean, isDone: () => boolean): void {
    const text = this.rest + piece;
    const { separator } = this;
    const quote = this.quote.charCodeAt(0);
    const first = separator.charCodeAt(0);
    // A line end and a separator may be longer than one character.
    const limit = last ? text.length : text.length - Math.max(1, separator.length - 1);
    let start = 0;
    let at = 0;
    for (; at < limit; at++) {
      const unit = text.charCodeAt(at);
      if (this.state === QUOTED) {
        if (unit === quote) this.state = QUOTE;
        continue;
      }
      if (unit === quote) {
        if (this.state === QUOTE) this.state = QUOTED;
        else if (this.state === START) {
          this.state = QUOTED;
          this.quoted = true;
          start = at;
        }
        continue;
      }
      const isBreak = unit === LINE_FEED || unit === RETURN;
      if (isBreak || (unit === first && (separator.length === 1 || text.startsWith(separator, at)))) {
        this.field(text, start, at);
        if (isBreak) {
          this.row();
          if (unit === RETURN && text.charCodeAt(at + 1) === LINE_FEED) at++;
          if (isDone()) return;
        } else at += separator.length - 1;
        start = at + 1;
        continue;
      }
      if (this.state === QUOTE) this.close = this.begun.length + at - start;
      this.state = PLAIN;
    }
    at = Math.min(at, text.length);
    start = Math.min(start, at);
    this.rest = text.slice(at);
    if (start < at) this.begun += text.slice(start, at);
    if (!last || this.state === QUOTED) return;
    if (this.state !== START || this.count > 0) {
      this.field("", 0, 0);
      this.row();
    }
  }

  /** Ends a field. */
  private field(text: string, start: number, end: number): void {
    const isKept = this.count < this.most;
    this.count++;
    if (isKept) {
      const raw = this.begun === "" ? text.slice(start, end) : this.begun + text.slice(start, end);
      this.fields.push(this.unquoted(raw));
    }
    this.begun = "";
    this.state = START;
    this.close = -1;
  }

  private unquoted(raw: string): string {
    const { quote, close, state } = this;
    if (close < 0 && state !== QUOTE) return raw;
    const end = close < 0 ? raw.length : close;
    const inside = raw.slice(1, end - 1);
    const single = inside.includes(quote) ? halved(inside, quote) : inside;
    return close < 0 ? single : single + raw.slice(close);
  }

  private row(): void {
    const { fields, count, quoted } = this;
    this.fields = [];
    this.count = 0;
    this.quoted = false;
    this.take(fields, count, quoted);
  }
}

const PIECE = 2 ** 16;

/** One quote for every two; piece by piece, for the runtime lists all that it is to replace. */
function halved(text: string, quote: string): string {
  let halves = "";
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + PIECE);
    let quotes = 0;
    while (end - quotes > at && text[end - quotes - 1] === quote) quotes++;
    // A pair stays together.
    if (quotes % 2 === 1) end++;
    halves += text.slice(at, end).replaceAll(quote + quote, quote);
    at = end;
  }
  return halves;
}
