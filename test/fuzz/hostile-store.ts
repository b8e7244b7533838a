// A store on loopback that answers as S3 does, or lies: in lengths, bodies, listings, places, or by being silent.
import { S3Client, type Socket, type TCPSocketListener } from "bun";
import type { Choices } from "./choices.ts";
import { filesBelow } from "./reader-helpers.ts";

/** What a store does wrong from some request on. */
const LIES = [
  "short body",
  "long body",
  "no range",
  "other range",
  "no length",
  "huge length",
  "negative length",
  "length that is none",
  "closed in the body",
  "closed",
  "silent",
  "silent in the body",
  "500",
  "403",
  "redirect here",
  "redirect away",
  "no answer of HTTP",
  "huge header",
  "sizes lie",
  "tricks as keys",
  "endless pages",
  "empty pages",
  "the same page",
  "no XML",
  "many objects",
  "deep keys",
] as const;
/** One of them. */
export type Lie = (typeof LIES)[number];

interface Answer {
  status: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

const text = (content: string) => Buffer.from(content);
const escaped = (key: string) => key.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** Serves the files of a directory as the bucket "bucket". */
export class HostileStore {
  readonly client: S3Client;
  /** Where it answers. */
  readonly endpoint: string;
  private readonly server: TCPSocketListener<{ head: string }>;
  private lie: Lie | null = null;
  private after = 0;
  private requests = 0;

  constructor(private readonly root: string) {
    this.server = Bun.listen<{ head: string }>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => {
          socket.data = { head: "" };
        },
        data: (socket, chunk) => this.received(socket, chunk),
        error() {},
      },
    });
    this.endpoint = `http://127.0.0.1:${this.server.port}`;
    this.client = new S3Client({
      accessKeyId: "test",
      secretAccessKey: "test",
      region: "us-east-1",
      bucket: "bucket",
      endpoint: this.endpoint,
    });
  }

  /** Chooses how the store behaves from now on: in one case of four it is honest. */
  lies(choices: Choices): Lie | null {
    this.tell(choices.below(4) === 0 ? null : choices.pick(LIES), choices.pick([0, 0, 1, 2, 3, 5]));
    choices.done.push(`the store: ${this.lie} after ${this.after} requests`);
    return this.lie;
  }

  /** Sets what the store does wrong after so many requests. */
  tell(lie: Lie | null, after = 0): void {
    this.requests = 0;
    this.lie = lie;
    this.after = after;
  }

  stop(): void {
    this.server.stop(true);
  }

  private received(socket: Socket<{ head: string }>, chunk: Uint8Array): void {
    socket.data.head += Buffer.from(chunk).toString("latin1");
    for (;;) {
      const end = socket.data.head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = socket.data.head.slice(0, end);
      socket.data.head = socket.data.head.slice(end + 4);
      this.respond(socket, head);
    }
  }

  private respond(socket: Socket<{ head: string }>, head: string): void {
    const lie = this.requests++ < this.after ? null : this.lie;
    const [method = "", target = ""] = head.split(" ");
    const url = new URL(target, "http://store");
    const range = /\r\nrange: *bytes=(\d+)-(\d*)/i.exec(head);
    if (lie === "silent") return;
    if (lie === "closed") return void socket.end();
    if (lie === "no answer of HTTP") return void socket.end("220 mail is served here\r\n\r\n");
    const isListing = url.searchParams.has("list-type");
    const answer = isListing ? this.listing(url, lie) : this.object(url, range, method, lie);
    this.send(socket, lied(answer, lie, target), method, lie);
  }

  private object(url: URL, range: RegExpExecArray | null, method: string, lie: Lie | null): Answer {
    const key = decodeURIComponent(url.pathname).replace(/^\/bucket\//, "");
    let content = filesBelow(this.root).get(key);
    if (content === undefined) {
      const body = text("<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>");
      return { status: "404 Not Found", headers: { "Content-Type": "application/xml" }, body };
    }
    if (lie === "other range") content = Buffer.concat([Buffer.of(1), content]);
    const headers = { "Content-Type": "application/octet-stream", ETag: '"0"' };
    if (range === null || lie === "no range" || method === "HEAD") return { status: "200 OK", headers, body: content };
    const [begin, end] = [Number(range[1]), range[2] === "" ? content.length : Number(range[2]) + 1];
    const part = content.subarray(begin, end);
    const place = { "Content-Range": `bytes ${begin}-${begin + part.length - 1}/${content.length}` };
    return { status: "206 Partial Content", headers: { ...headers, ...place }, body: part };
  }

  private files(prefix: string): [string, number][] {
    return [...filesBelow(this.root)]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, content]) => [name, content.length]);
  }

  private listing(url: URL, lie: Lie | null): Answer {
    const prefix = url.searchParams.get("prefix") ?? "";
    let files = this.files(prefix);
    if (lie === "sizes lie")
      files = files.map(([key, n], i) => [key, [n + 1, 2 ** 53, 2 ** 40, -1, 0][i % 5] as number]);
    if (lie === "many objects") for (let i = 0; i < 20_000; i++) files.push([`${prefix}x${i}`, 0]);
    if (lie === "deep keys") files.push([`${prefix}${"d/".repeat(400)}meta.json`, 2]);
    if (lie === "tricks as keys") {
      const tricks = [
        "../meta.json",
        "/meta.json",
        "//meta.json",
        "..",
        "",
        "a%00b/meta.json",
        "meta.json/",
        "b/../meta.json",
      ];
      for (const key of tricks) files.push([prefix + key, 2], [key, 2]);
    }
    if (lie === "empty pages") files = [];
    const count = this.requests;
    const token = lie === "the same page" ? "again" : `page${count}`;
    const more = lie === "endless pages" || lie === "empty pages" || lie === "the same page";
    const contents = files.map(
      ([key, size]) => `<Contents><Key>${escaped(key)}</Key><Size>${size}</Size><ETag>"0"</ETag></Contents>`,
    );
    const next = more ? `<NextContinuationToken>${token}</NextContinuationToken>` : "";
    const pages = `<Name>bucket</Name><IsTruncated>${more}</IsTruncated>${next}`;
    const whole = `<?xml version="1.0"?><ListBucketResult>${pages}${contents.join("")}</ListBucketResult>`;
    const body =
      lie === "no XML" ? text(whole.slice(0, whole.length >> 1).replace("<Size>", "<Size><Size>")) : text(whole);
    return { status: "200 OK", headers: { "Content-Type": "application/xml" }, body };
  }

  private send(socket: Socket<{ head: string }>, answer: Answer, method: string, lie: Lie | null): void {
    const { length } = answer.body;
    const lengths: Partial<Record<Lie, string>> = {
      "short body": String(length + 7),
      "huge length": "9007199254740993",
      "negative length": "-5",
      "length that is none": "0x10, 12",
      "closed in the body": String(length + 1000),
      "silent in the body": String(length + 1000),
    };
    const claimed = (lie === null ? undefined : lengths[lie]) ?? String(length);
    const headers: Record<string, string> = {
      ...answer.headers,
      ...(lie === "no length" ? {} : { "Content-Length": claimed }),
    };
    if (lie === "huge header") headers["X-Filler"] = "x".repeat(100_000);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${answer.status}\r\n${lines.join("")}\r\n`);
    if (method !== "HEAD") socket.write(answer.body);
    if (lie !== null && lie !== "silent in the body") socket.end();
  }
}

function lied(answer: Answer, lie: Lie | null, target: string): Answer {
  switch (lie) {
    case "long body":
      return { ...answer, body: Buffer.concat([answer.body, Buffer.alloc(2 ** 20)]) };
    case "short body":
      return { ...answer, body: answer.body.subarray(0, answer.body.length >> 1) };
    case "500":
      return {
        status: "500 Internal Server Error",
        headers: {},
        body: text("<Error><Code>InternalError</Code></Error>"),
      };
    case "403":
      return { status: "403 Forbidden", headers: {}, body: text("<Error><Code>AccessDenied</Code></Error>") };
    case "redirect here":
      return { status: "301 Moved Permanently", headers: { Location: target }, body: text("") };
    case "redirect away":
      return { status: "307 Temporary Redirect", headers: { Location: "http://127.0.0.1:9/bucket/x" }, body: text("") };
    default:
      return answer;
  }
}
