// What a GPU could do at most, from its capability, its clock and the number of its multiprocessors.

/** Multiplications with an addition, of one multiprocessor in a clock; 0 where the hardware has none. */
interface Rates {
  f32: number;
  f64: number;
  /** Tensor cores, dense, adding up in float32. */
  tf32: number;
  f16: number;
  bf16: number;
}

/** By compute capability, from NVIDIA's tables; products for games have half of some rates of tensor cores. */
const RATES: Readonly<Record<string, Rates>> = {
  "7.5": { f32: 64, f64: 2, tf32: 0, f16: 512, bf16: 0 },
  "8.0": { f32: 64, f64: 64, tf32: 512, f16: 1024, bf16: 1024 },
  "8.6": { f32: 128, f64: 2, tf32: 256, f16: 512, bf16: 512 },
  "8.7": { f32: 128, f64: 2, tf32: 128, f16: 512, bf16: 512 },
  "8.9": { f32: 128, f64: 2, tf32: 256, f16: 512, bf16: 512 },
  "9.0": { f32: 128, f64: 128, tf32: 1024, f16: 2048, bf16: 2048 },
  "10.0": { f32: 128, f64: 64, tf32: 2048, f16: 4096, bf16: 4096 },
  "10.3": { f32: 128, f64: 2, tf32: 2048, f16: 4096, bf16: 4096 },
  "12.0": { f32: 128, f64: 2, tf32: 256, f16: 512, bf16: 512 },
};

export interface Facts {
  capability: string;
  multiprocessors: number;
  /** kHz */
  clock: number | null;
  memoryClock: number | null;
  /** bits */
  busWidth: number | null;
}

/** Operations in a second, an addition and a multiplication counting two; null where that is not known. */
export function peakOf(facts: Facts, dtype: string): number | null {
  const rates = RATES[facts.capability];
  const rate = rates?.[dtype as keyof Rates];
  if (!rate || !facts.clock) return null;
  return 2 * rate * facts.multiprocessors * facts.clock * 1000;
}

/** Bytes in a second: memory moves two words in a clock. */
export function bandwidthOf(facts: Facts): number | null {
  if (!facts.memoryClock || !facts.busWidth) return null;
  return (2 * facts.memoryClock * 1000 * facts.busWidth) / 8;
}
