/** Random generators: the native state and what seeds, saves and restores it. */
import { GeneratorBytes, RandomAttr, STATUS } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import { inOrder, installChecks } from "../tensor/checks.ts";
import { CPU, type Device, type DeviceLike, gpuOf, toDevice } from "../tensor/device.ts";
import { int64, uint8 } from "../tensor/dtype.ts";
import { CLASSES, GENERATOR } from "../tensor/signatures.ts";
import { Storage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { readWord } from "../tensor/values.ts";
import { empty } from "./allocate.ts";
import { backends } from "./backend.ts";

/** Bytes of a saved state. */
const STATE_BYTES = GeneratorBytes.state;
const DEVICE_STATE_BYTES = 16;
const DEFAULT_SEED = 67280421310721n;

/** The 64 bits of a seed between -2^63 and 2^64 - 1. */
function seedWord(seed: number | bigint): bigint {
  if (typeof seed !== "bigint" && !Number.isInteger(seed)) {
    throw texts.seedNotAnInteger("manualSeed", typeof seed === "number" ? "float" : typeof seed);
  }
  const x = BigInt(seed);
  if (x < -(2n ** 63n) || x >= 2n ** 64n) throw texts.integerOverflow("manualSeed");
  return BigInt.asIntN(64, x);
}

/** A seed from the system's source of randomness. */
function randomSeed(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0] as bigint;
}

/** A number where it is exact, else a bigint. */
const plainSeed = (x: bigint): number | bigint => (x <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(x) : x);

/**
 * A stream of random numbers of its own: torch's mt19937, bit for bit; on a CUDA device its Philox streams, which a
 * seed and an offset into all of them describe.
 * @example
 * ```ts
 * rand(2, { generator: new Generator().manualSeed(0) }) // tensor([0.4963, 0.7682])
 * ```
 * @torch torch.Generator
 */
export class Generator {
  private readonly block: Storage;
  /** Seed and offset of a device's streams; null on the CPU. */
  private readonly words: BigUint64Array | null;
  /** Where its numbers are made. */
  readonly device: Device;

  constructor(device: DeviceLike = "cpu") {
    [device = CPU] = inOrder<[DeviceLike?]>("Generator", GENERATOR, arguments);
    const place = toDevice(device);
    if (!place.computes) throw texts.noGenerator(undefined, String(place));
    this.device = place;
    this.block = Storage.allocate(GeneratorBytes.reserved);
    this.words = place.type === "cuda" ? new BigUint64Array(this.block.buffer(), 0, 2) : null;
    this.begin(DEFAULT_SEED);
  }

  /** @internal Address of the native state. */
  get _address(): number {
    return this.block.ptr;
  }

  private begin(word: bigint): void {
    if (this.words !== null) {
      this.words.set([BigInt.asUintN(64, word), 0n]);
      return;
    }
    frame.begin(1, 0);
    frame.operand(0, frame.scratchInt(0, word), int64.id, [], [], 0);
    frame.attr(RandomAttr.generator, this._address);
    K.random_seed.run(CPU, "manualSeed");
  }

  /** Starts the stream of a seed; only its low 32 bits matter. @torch torch.Generator.manual_seed */
  manualSeed(seed: number | bigint): this {
    this.begin(seedWord(seed));
    return this;
  }

  /**
   * The seed that the stream began with, as torch counts it: from 0 to 2^64 - 1.
   * @torch torch.Generator.initial_seed
   */
  initialSeed(): number | bigint {
    if (this.words !== null) return plainSeed(this.words[0] as bigint);
    const address = frame.scratchInt(0, 0n);
    frame.begin(1, 0);
    frame.operand(0, address, int64.id, [], [], 0);
    frame.attr(RandomAttr.generator, this._address);
    K.random_initial_seed.run(CPU, "initialSeed");
    return plainSeed(readWord(address, false));
  }

  /** Starts a stream that nobody can predict, and returns its seed. @torch torch.Generator.seed */
  seed(): number | bigint {
    const seed = randomSeed();
    this.begin(BigInt.asIntN(64, seed));
    return plainSeed(seed);
  }

  /**
   * The state in torch's layout: 5056 bytes, on a CUDA device 16 for the seed and the offset.
   * @torch torch.Generator.get_state
   */
  getState(): Tensor {
    const state = empty([this.words === null ? STATE_BYTES : DEVICE_STATE_BYTES], uint8, CPU);
    if (this.words !== null) {
      new BigUint64Array(state._storage.buffer(), 0, 2).set(this.words);
      return state;
    }
    frame.begin(1, 0);
    frame.operand(0, state._address(), uint8.id, state._shape, state._strides, 0);
    frame.attr(RandomAttr.generator, this._address);
    K.random_get_state.run(CPU, "getState");
    return state;
  }

  /**
   * Takes over a saved state.
   * @throws RuntimeError when the bytes are no state
   * @torch torch.Generator.set_state
   */
  setState(state: Tensor): this {
    const op = "setState";
    if (!(state instanceof Tensor)) throw texts.stateNotBytes(op, typeof state);
    if (state.dtype !== uint8 || state.device !== CPU) throw texts.stateNotAByteTensor(op);
    if (!state._contiguous) throw texts.stateNotContiguous(op);
    if (this.words !== null) {
      if (state._numel !== DEVICE_STATE_BYTES) throw texts.deviceStateOfWrongSize(op);
      const bytes = state.clone();
      this.words.set(new BigUint64Array(bytes._storage.buffer(), 0, 2));
      return this;
    }
    if (state._numel !== STATE_BYTES) throw texts.stateOfWrongSize(op, STATE_BYTES, state._numel);
    frame.begin(1, 0);
    frame.operand(0, state._address(), uint8.id, [STATE_BYTES], [1], 0);
    frame.attr(RandomAttr.generator, this._address);
    if (K.random_set_state.launch(CPU) !== STATUS.ok) throw texts.stateInvalid(op);
    return this;
  }

  /** A generator in the same state. @torch torch.Generator.clone_state */
  cloneState(): Generator {
    return new Generator(this.device).setState(this.getState());
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `<Generator device='${this.device}'>`;
  }
}
installChecks(Generator.prototype, CLASSES.Generator);

/** The generator of calls that are given none; every Worker has its own. */
export const defaultGenerator: Generator = new Generator();
defaultGenerator.seed();

/** Those of CUDA devices, made when a device is asked for numbers first. */
const ofDevices: Generator[] = [];
let seedOfDevices: number | bigint | null = null;

/** The generator that calls use on a device when they are given none. */
export function defaultGeneratorOf(device: Device): Generator {
  if (device.type !== "cuda" || backends.cuda?.draws !== true) return defaultGenerator;
  const index = gpuOf(device);
  const known = ofDevices[index];
  if (known !== undefined) return known;
  const fresh = new Generator(device);
  ofDevices[index] = fresh;
  if (seedOfDevices === null) fresh.seed();
  else fresh.manualSeed(seedOfDevices);
  return fresh;
}

/** Starts the streams of a seed on all CUDA devices, also on those that are used later. */
export function seedDevices(seed: number | bigint): void {
  seedWord(seed);
  seedOfDevices = seed;
  for (const g of ofDevices) g?.manualSeed(seed);
}
