/**
 * Many tensors to another device, or large ones: through pinned memory, so that nobody waits between one and the next.
 */
import { CPU, type Device } from "../tensor/device.ts";
import type { Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { backendOf } from "./backend.ts";
import { transfer } from "./copy.ts";
import { aligned, elements, PIECE_BYTES, type StagedPiece, stage, withPinned } from "./staging.ts";

/** Whether the elements are one run of bytes. */
export const isPlain = (t: Tensor): boolean => t._contiguous && t._bits === 0 && t._numel > 0;

/** A tensor whose elements go where another one has its own, from the CPU to a GPU or the other way. */
export interface Move {
  to: Tensor;
  from: Tensor;
}

/** Whether one of two tensors, which have elements, is on the CPU and the other on a GPU. */
export function isMove(to: Tensor, from: Tensor): boolean {
  const [there, here] = [to._storage.device, from._storage.device];
  return from._numel > 0 && (there === CPU ? here.type === "cuda" : here === CPU && there.type === "cuda");
}

/** The elements of a tensor as one run of bytes. */
export function plain(t: Tensor): Tensor {
  return isPlain(t) ? t : t.resolveConj().resolveNeg().contiguous();
}

/** So many elements behind the first ones of a row-major tensor, in one dimension. */
const run = (t: Tensor, from: number, count: number): Tensor => elements(t._storage, t._offset + from, count, t.dtype);

/** The elements of a row-major tensor on the CPU on their way to one on a GPU. */
function* piecesOf(dst: Tensor, src: Tensor): Generator<StagedPiece> {
  const { dtype } = src;
  const step = Math.floor(PIECE_BYTES / dtype.itemsize);
  for (let at = 0; at < src._numel; at += step) {
    const count = Math.min(step, src._numel - at);
    const staged = (block: Storage) => elements(block, 0, count, dtype);
    yield {
      nbytes: count * dtype.itemsize,
      fill: (block) => transfer(staged(block), run(src, at, count)),
      send: (block) => backendOf(dst._storage.device).copy(run(dst, at, count), staged(block), true),
    };
  }
}

/** The bytes of a row-major tensor on the CPU to one on a GPU, a piece at a time. Nobody waits for them. */
export function stageToGpu(dst: Tensor, src: Tensor): void {
  stage(dst._storage.device, piecesOf(dst, src));
}

/** The bytes of a row-major tensor on a GPU to one on the CPU, through one pinned block, a piece at a time. */
export function stageToCpu(dst: Tensor, src: Tensor): void {
  const { itemsize } = src.dtype;
  const step = Math.min(Math.floor(PIECE_BYTES / itemsize), src._numel);
  withPinned(step * itemsize, (block) => {
    for (let at = 0; at < src._numel; at += step) {
      const count = Math.min(step, src._numel - at);
      const staged = elements(block, 0, count, src.dtype);
      backendOf(src._storage.device).copy(staged, run(src, at, count));
      transfer(run(dst, at, count), staged);
    }
  });
}

/** Tensors between the same devices, together as large as one piece; larger ones are alone. */
function* groups(moves: readonly Move[]): Generator<Move[]> {
  let group: Move[] = [];
  let total = 0;
  for (const move of moves) {
    const { nbytes } = move.from;
    const [last] = group;
    if (last !== undefined && (total + nbytes > PIECE_BYTES || !sameWay(last, move))) {
      yield group;
      [group, total] = [[], 0];
    }
    group.push(move);
    total += aligned(nbytes);
  }
  if (group.length > 0) yield group;
}

function sameWay(a: Move, b: Move): boolean {
  return a.from._storage.device === b.from._storage.device && a.to._storage.device === b.to._storage.device;
}

/** Where each tensor of a group begins in one block, and how large that is. */
function layout(group: readonly Move[]): { places: number[]; nbytes: number } {
  let nbytes = 0;
  const places = group.map(({ from }) => {
    const at = nbytes;
    nbytes += aligned(from.nbytes);
    return at;
  });
  return { places, nbytes };
}

const within = (block: Storage, at: number, t: Tensor): Tensor =>
  elements(block, at / t.dtype.itemsize, t._numel, t.dtype);

const flat = (t: Tensor): Tensor => run(t, 0, t._numel);

/** Tensors that go to one GPU one after the other, small ones together. */
function* piecesOfMoves(moves: readonly Move[]): Generator<StagedPiece> {
  for (const group of groups(moves)) {
    const [{ to, from }, second] = group as [Move, Move?];
    if (second === undefined) {
      yield* piecesOf(to, from);
      continue;
    }
    const { places, nbytes } = layout(group);
    const staged = (block: Storage, i: number) => within(block, places[i] as number, (group[i] as Move).from);
    yield {
      nbytes,
      fill: (block) => group.forEach(({ from }, i) => void transfer(staged(block, i), flat(from))),
      send: (block) =>
        group.forEach(({ to }, i) => void backendOf(to._storage.device).copy(flat(to), staged(block, i), true)),
    };
  }
}

function groupToCpu(group: readonly Move[]): void {
  const [{ to: only, from: alone }, second] = group as [Move, Move?];
  if (second === undefined) {
    stageToCpu(only, alone);
    return;
  }
  const { places, nbytes } = layout(group);
  withPinned(nbytes, (block) => {
    const staged = group.map(({ from }, i) => within(block, places[i] as number, from));
    // The last one waits, and with it all before: they are on one stream.
    const last = group.length - 1;
    group.forEach(({ from }, i) => {
      backendOf(from._storage.device).copy(staged[i] as Tensor, flat(from), i < last);
    });
    group.forEach(({ to }, i) => void transfer(flat(to), staged[i] as Tensor));
  });
}

/**
 * Row-major tensors (see `isPlain`) into others of their dtypes and sizes: through one pinned block for up to 32 MiB of
 * them, with one wait to the CPU and none to a GPU.
 */
export function fillMany(moves: readonly Move[]): void {
  for (const group of groups(moves.filter(({ to }) => to._storage.device === CPU))) groupToCpu(group);
  const there = new Set(moves.map(({ to }) => to._storage.device));
  there.delete(CPU);
  for (const device of there) stage(device, piecesOfMoves(moves.filter(({ to }) => to._storage.device === device)));
}

/** Row-major tensors to another device, from the CPU to a GPU or from GPUs to the CPU; see `fillMany`. */
export function moveMany(list: readonly Tensor[], device: Device): Tensor[] {
  const moves = list.map((from) => ({ from, to: empty(from._shape, from.dtype, device) }));
  fillMany(moves);
  return moves.map(({ to }) => to);
}
