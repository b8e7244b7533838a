/** The type of random generators, for signatures below the room that implements them. */

/** A source of random numbers. @torch torch.Generator */
export interface Generator {
  manualSeed(seed: number | bigint): this;
  /** @internal Address of the native state. */
  readonly _address: number;
}
