/** The default random generator, for users. */
import { defaultGenerator, Generator, seedDevices } from "../dispatch/generator.ts";
import { checkCall, inOrder } from "../tensor/checks.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import type { Tensor } from "../tensor/tensor.ts";

export { defaultGenerator, Generator };

/**
 * Starts the default generator's stream of a seed, on the CPU and on all CUDA devices.
 * @throws ValueError for a seed outside of -2^63 to 2^64 - 1
 * @example
 * ```ts
 * manualSeed(0);
 * rand(3) // tensor([0.4963, 0.7682, 0.0885])
 * ```
 * @torch torch.manual_seed
 */
export function manualSeed(seed: number | bigint): Generator {
  [seed] = inOrder<[number | bigint]>("manualSeed", FUNCTIONS.manualSeed, arguments);
  defaultGenerator.manualSeed(seed);
  seedDevices(seed);
  return defaultGenerator;
}

/**
 * Starts a stream that nobody can predict, and returns its seed.
 * @example
 * ```ts
 * seed() === initialSeed() // true
 * ```
 * @torch torch.seed
 */
export function seed(): number | bigint {
  checkCall("seed", FUNCTIONS.seed, arguments);
  const seed = defaultGenerator.seed();
  seedDevices(seed);
  return seed;
}

/**
 * The seed that the default generator's stream began with.
 * @example
 * ```ts
 * manualSeed(42);
 * initialSeed() // 42
 * ```
 * @torch torch.initial_seed
 */
export function initialSeed(): number | bigint {
  checkCall("initialSeed", FUNCTIONS.initialSeed, arguments);
  return defaultGenerator.initialSeed();
}

/**
 * The default generator's state as bytes.
 * @example
 * ```ts
 * manualSeed(0);
 * const state = getRngState();
 * const first = rand(2);
 * setRngState(state);
 * first.equal(rand(2)) // true
 * ```
 * @torch torch.get_rng_state
 */
export function getRngState(): Tensor {
  checkCall("getRngState", FUNCTIONS.getRngState, arguments);
  return defaultGenerator.getState();
}

/**
 * Takes over a state from `getRngState`.
 * @example
 * ```ts
 * const state = getRngState();
 * const first = rand(2);
 * setRngState(state);
 * rand(2).equal(first) // true
 * ```
 * @torch torch.set_rng_state
 */
export function setRngState(state: Tensor): void {
  [state] = inOrder<[Tensor]>("setRngState", FUNCTIONS.setRngState, arguments);
  defaultGenerator.setState(state);
}
