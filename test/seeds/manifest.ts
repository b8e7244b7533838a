// One row for each statement of the five seed documents that computes or prints: the specification by example.
//
//   000  memory: devices and memory-mapped TensorDicts        003  copies, in-place operators and autograd
//   001  storage: shapes, strides, shared memory              004  saving TensorDicts and tensorclasses
//   002  the tensordict package: its page of examples
//
// Where a document disagrees with torch 2.15 or tensordict 0.15, or with itself, today's library wins and the row
// says so.
import type { Seed } from "./row.ts";
import { seed000 } from "./seed-000.ts";
import { seed001 } from "./seed-001.ts";
import { seed002 } from "./seed-002.ts";
import { seed003 } from "./seed-003.ts";
import { seed004 } from "./seed-004.ts";

export const SEEDS: readonly Seed[] = [seed000, seed001, seed002, seed003, seed004];
