/** The stream on which work goes to a device: 0, its default, unless another was chosen. */
const current: number[] = [];

/** The handle of the current stream of a device. */
export function currentStream(index: number): number {
  return current[index] ?? 0;
}
