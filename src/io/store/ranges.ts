// Ranges of an object over HTTP. The runtime's client for S3 shows nothing of an answer but its bytes; what stands over
// them tells whether they are those that were asked for, and whether they are still of the same object.
import { FileNotFoundError, FormatError, OSError } from "../base/errors.ts";

/** What tells an object from the one that takes its place; null where the store does not say. */
export interface ObjectVersion {
  etag: string | null;
  /** In seconds: more of it is not told everywhere. */
  modified: number | null;
  size: number | null;
}

/** A range that is asked for. */
export interface RangeRequest {
  /** Where it can be had, with all that allows it. */
  url: string;
  /** The object's name for messages. */
  name: string;
  begin: number;
  end: number;
  /** The object that it is to be of; null for any. */
  version: ObjectVersion | null;
}

/** Bytes of an answer that says what went wrong. */
const MAX_ERROR_BYTES = 64 * 1024;
/** What a store may call bytes that are as they were stored. */
const PLAIN_CODINGS = new Set(["", "identity", "aws-chunked"]);
const MOVED = 300;
const FAILED = 400;

/** The error for an object that is another one by now. */
export function changedError(name: string): OSError {
  return new OSError(`${name} was replaced while it was read`, { path: name, code: "changed" });
}

/** A tag without what stores write around it. */
function bareTag(tag: string): string {
  return tag.replace(/^W\//, "").replace(/^(?:"|&quot;)|(?:"|&quot;)$/g, "");
}

/** A version from what a store says of an object. */
export function versionOf(etag: string | null | undefined, modified: unknown, size: number | null): ObjectVersion {
  const at = modified instanceof Date ? modified.getTime() : Date.parse(String(modified ?? ""));
  return { etag: etag || null, modified: Number.isFinite(at) ? Math.floor(at / 1000) : null, size };
}

/** Whether two of these can be of one object. */
export function isSameVersion(a: ObjectVersion, b: ObjectVersion): boolean {
  if (a.size !== null && b.size !== null && a.size !== b.size) return false;
  if (a.etag !== null && b.etag !== null) return bareTag(a.etag) === bareTag(b.etag);
  return a.modified === null || b.modified === null || a.modified === b.modified;
}

/** What is known of an object by now. */
export function mergedVersion(a: ObjectVersion, b: ObjectVersion): ObjectVersion {
  return { etag: a.etag ?? b.etag, modified: a.modified ?? b.modified, size: a.size ?? b.size };
}

/**
 * The bytes [begin, end) of an object, no more of them than were asked for, and which version they are of.
 * @param timely waits for what may never come
 * @throws OSError, with the code "changed" for an object that was replaced, and FormatError for another range
 */
export async function fetchRange(
  request: RangeRequest,
  timely: <T>(promise: Promise<T>) => Promise<T>,
): Promise<{ bytes: Uint8Array; version: ObjectVersion }> {
  const { url, name, begin, end, version } = request;
  const headers: Record<string, string> = { Range: `bytes=${begin}-${end - 1}`, "Accept-Encoding": "identity" };
  const etag = version?.etag ?? null;
  // A weak one matches nothing there.
  if (etag !== null && !etag.startsWith("W/")) headers["If-Match"] = `"${bareTag(etag)}"`;
  const controller = new AbortController();
  const { signal } = controller;
  try {
    const options = { headers, redirect: "manual", decompress: false, signal } as const;
    const answer = await timely(fetch(url, options));
    if (answer.status >= MOVED) await refuse(answer, request, timely);
    const found = versionIn(answer, request);
    if (version !== null && !isSameVersion(version, found)) throw changedError(name);
    return { bytes: await bodyOf(answer, request, timely), version: found };
  } finally {
    controller.abort();
  }
}

/** Throws what an answer says that brings no bytes. */
async function refuse(
  answer: Response,
  { name, version }: RangeRequest,
  timely: <T>(promise: Promise<T>) => Promise<T>,
): Promise<never> {
  const { status } = answer;
  const text = status < FAILED ? "" : Buffer.from(await taken(answer, MAX_ERROR_BYTES, timely)).toString();
  const said = (what: string) => new RegExp(`<${what}>([^<]{1,500})</${what}>`).exec(text)?.[1];
  const code = said("Code") ?? (status === 404 ? "NoSuchKey" : status === 416 ? "InvalidRange" : `HTTP ${status}`);
  if (code === "NoSuchKey") throw new FileNotFoundError(name);
  if (version !== null && (status === 412 || status === 416)) throw changedError(name);
  const message = status < FAILED ? "the store says that it is elsewhere" : (said("Message") ?? "the store refuses it");
  throw Object.assign(new Error(message), { code });
}

/** Which version an answer is of, when its range is the one that was asked for. */
function versionIn(answer: Response, { name, begin, end }: RangeRequest): ObjectVersion {
  const { headers } = answer;
  const coding = (headers.get("content-encoding") ?? "").trim().toLowerCase();
  if (!PLAIN_CODINGS.has(coding)) throw new FormatError(`it comes compressed with ${coding}, not as it is`, name);
  let size: number | null = null;
  if (answer.status === 206) {
    const range = headers.get("content-range") ?? "";
    const [, first, last, total] = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16}|\*)$/i.exec(range.trim()) ?? [];
    if (Number(first) !== begin || Number(last) !== end - 1) {
      const came = range === "" ? "a range without a place" : JSON.stringify(range.slice(0, 100));
      throw new FormatError(`${came} came for the range ${begin} to ${end}`, name);
    }
    if (total !== "*") size = Number(total);
  } else {
    // The whole object, from stores that know no ranges: what was asked for may be just that.
    const length = headers.get("content-length");
    if (length !== null && Number(length) > end - begin) throw tooMuch(begin, end, name);
    if (answer.status !== 200 || begin !== 0) {
      throw new FormatError(`an answer without a range came for the range ${begin} to ${end}`, name);
    }
  }
  return versionOf(headers.get("etag"), headers.get("last-modified"), size);
}

function tooMuch(begin: number, end: number, name: string): FormatError {
  return new FormatError(`more bytes came for the range ${begin} to ${end}`, name);
}

async function bodyOf(
  answer: Response,
  { name, begin, end }: RangeRequest,
  timely: <T>(promise: Promise<T>) => Promise<T>,
): Promise<Uint8Array> {
  const bytes = await taken(answer, end - begin, timely);
  if (bytes.length > end - begin) throw tooMuch(begin, end, name);
  if (bytes.length === end - begin) return bytes;
  throw new FormatError(`${bytes.length} bytes came for the range ${begin} to ${end}`, name);
}

/** The body of an answer, and no more of it than shows that it is longer than `most`. */
async function taken(
  answer: Response,
  most: number,
  timely: <T>(promise: Promise<T>) => Promise<T>,
): Promise<Uint8Array> {
  if (answer.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = answer.body.getReader();
  try {
    while (length <= most) {
      const { done, value } = await timely(reader.read());
      if (done) break;
      parts.push(value);
      length += value.length;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
