// Cases of TensorDict: one call each, as tensordict's own tests make them (docs/reliability.md). The encoding of values
// is that of the other cases (../case-types.ts), with collections, dictionaries and functions.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StridedDesc } from "../case-types.ts";

export interface TensorDesc extends StridedDesc {
  /** A parameter, a buffer, a tensor without a batch. */
  pa?: 1;
  bf?: 1;
  ub?: 1;
  ubs?: number[];
}

export type Field = [name: string, type: string, optional?: 1];

export interface CollectionDesc {
  "#"?: number;
  c: string;
  bs?: number[];
  dev?: string;
  n?: (string | null)[];
  lk?: 1;
  e?: [Encoded, Encoded][];
  sd?: number;
  sn?: string;
  m?: Encoded[];
  td?: Encoded;
  nc?: boolean;
  ev?: 1;
  v?: Encoded;
  fl?: Field[];
  nt?: Record<string, Encoded> | [string, Encoded][];
}

/** A value: plain JSON, or an object with one tag. */
// biome-ignore lint/suspicious/noExplicitAny: cases are data
export type Encoded = any;

export interface ErrorDesc {
  type: string;
  mro: string[];
  msg: string;
}

export interface Step {
  k: string;
  m: string;
  c?: string;
  fl?: Field[];
  a: Encoded[];
  kw?: Record<string, Encoded>;
  out?: Encoded;
  err?: ErrorDesc;
  x?: number;
}

export interface TdCase extends Step {
  id: string;
  set?: Record<string, Encoded>;
  post?: Record<string, Encoded>;
  /** The contents of an input storage afterwards: entry of `S`. */
  pb?: Record<string, number>;
  rand?: 1;
  steps?: Step[];
  S: [number, number][];
  t: string;
}

export class TdCaseSet {
  readonly cases: TdCase[];
  readonly blob: Uint8Array;

  constructor(readonly folder: string) {
    const index = join(folder, "index.jsonl");
    if (!existsSync(index)) throw new Error(`${folder} holds no cases`);
    this.cases = readFileSync(index, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
    this.blob = readFileSync(join(folder, "blob.bin"));
  }

  /** A private copy of an entry of a case's storages. */
  bytes(c: TdCase, s: number): Uint8Array {
    const [offset, length] = c.S[s] as [number, number];
    return new Uint8Array(this.blob.subarray(offset, offset + length));
  }
}
