/** Random numbers of CUDA devices: seeds and states of their default generators. */
import { defaultGeneratorOf, type Generator, seedDevices } from "../dispatch/generator.ts";
import { checkCall, inOrder } from "../tensor/checks.ts";
import { toDevice } from "../tensor/device.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type CudaDeviceLike, required } from "./devices.ts";
import { problem } from "./driver.ts";
import { FUNCTIONS } from "./signatures.ts";

function generatorOf(device: CudaDeviceLike | null | undefined, op: string): Generator {
  return defaultGeneratorOf(toDevice(`cuda:${required(device, op)}`));
}

/**
 * Starts the stream of a seed on the current device. Without a device nothing happens.
 * @example
 * ```ts
 * cuda.manualSeed(7);
 * cuda.isAvailable() ? cuda.initialSeed() : 7 // 7
 * ```
 * @torch torch.cuda.manual_seed
 */
export function manualSeed(seed: number | bigint): void {
  [seed] = inOrder<[number | bigint]>("manualSeed", FUNCTIONS.manualSeed, arguments);
  if (problem() === null) generatorOf(null, "cuda.manualSeed").manualSeed(seed);
}

/**
 * Starts the stream of a seed on all devices.
 * @example
 * ```ts
 * cuda.manualSeedAll(7);
 * cuda.isAvailable() ? cuda.initialSeed() : 7 // 7
 * ```
 * @torch torch.cuda.manual_seed_all
 */
export function manualSeedAll(seed: number | bigint): void {
  [seed] = inOrder<[number | bigint]>("manualSeedAll", FUNCTIONS.manualSeedAll, arguments);
  seedDevices(seed);
}

/**
 * Starts a stream that nobody can predict on the current device.
 * @example
 * ```ts
 * cuda.seed();
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.seed
 */
export function seed(): void {
  checkCall("seed", FUNCTIONS.seed, arguments);
  if (problem() === null) generatorOf(null, "cuda.seed").seed();
}

/**
 * Starts one stream that nobody can predict on all devices.
 * @example
 * ```ts
 * cuda.seedAll();
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.seed_all
 */
export function seedAll(): void {
  checkCall("seedAll", FUNCTIONS.seedAll, arguments);
  if (problem() === null) seedDevices(generatorOf(null, "cuda.seedAll").seed());
}

/**
 * The seed that the current device's stream began with.
 * @example
 * ```ts
 * manualSeed(3);
 * cuda.isAvailable() ? cuda.initialSeed() : 3 // 3
 * ```
 * @torch torch.cuda.initial_seed
 */
export function initialSeed(): number | bigint {
  checkCall("initialSeed", FUNCTIONS.initialSeed, arguments);
  return generatorOf(null, "cuda.initialSeed").initialSeed();
}

/**
 * The state of a device's generator, by default the current device's, 16 bytes on the CPU: the seed and how far its
 * streams are.
 * @example
 * ```ts
 * cuda.isAvailable() ? cuda.getRngState().numel() : 16 // 16
 * ```
 * @torch torch.cuda.get_rng_state
 */
export function getRngState(device?: CudaDeviceLike | null): Tensor {
  [device] = inOrder<[CudaDeviceLike?]>("getRngState", FUNCTIONS.getRngState, arguments);
  return generatorOf(device, "cuda.getRngState").getState();
}

/**
 * Takes over a state from `cuda.getRngState`.
 * @example
 * ```ts
 * if (cuda.isAvailable()) cuda.setRngState(cuda.getRngState());
 * cuda.deviceCount() >= 0 // true
 * ```
 * @torch torch.cuda.set_rng_state
 */
export function setRngState(newState: Tensor, device?: CudaDeviceLike | null): void {
  [newState, device] = inOrder<[Tensor, CudaDeviceLike?]>("setRngState", FUNCTIONS.setRngState, arguments);
  generatorOf(device, "cuda.setRngState").setState(newState instanceof Tensor ? newState.contiguous() : newState);
}
