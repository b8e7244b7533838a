// Medians, and how sure they are.

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}

/**
 * Bounds of the median with at least 95 % confidence, from the order of the values alone: the widest pair of ranks that
 * a fair coin leaves outside with less than 2.5 % on either side. Fewer than six values give their range.
 */
export function medianInterval(values: readonly number[]): readonly [number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  let chance = 2 ** -n;
  let below = chance;
  let rank = 0;
  while (below <= 0.025 && rank < n >> 1) {
    rank++;
    chance *= (n - rank + 1) / rank;
    below += chance;
  }
  const at = Math.max(0, rank - 1);
  return [sorted[at] ?? Number.NaN, sorted[n - 1 - at] ?? Number.NaN];
}
