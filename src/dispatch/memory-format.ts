/** Memory formats. */

/**
 * How the dimensions of a dense tensor lie in memory.
 * @example
 * ```ts
 * const x = zeros(1, 2, 3, 4).contiguous({ memoryFormat: channelsLast });
 * [x.stride(), channelsLast.name, x.isContiguous(), x.isContiguous({ memoryFormat: channelsLast })]
 * // [[24, 1, 8, 2], channels_last, false, true]
 * ```
 * @torch torch.memory_format
 */
export class MemoryFormat {
  /** The name in PyTorch: `channels_last`. */
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  /** `torch.` and the name. */
  toString(): string {
    return `torch.${this.name}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

/** Row by row, the last dimension beside each other in memory. @torch torch.contiguous_format */
export const contiguousFormat = new MemoryFormat("contiguous_format");
/** The layout of the operand where it is dense, else row by row. @torch torch.preserve_format */
export const preserveFormat = new MemoryFormat("preserve_format");
/** Four dimensions (N, C, H, W) with the channels beside each other in memory. @torch torch.channels_last */
export const channelsLast = new MemoryFormat("channels_last");
/** Five dimensions (N, C, D, H, W) with the channels beside each other in memory. @torch torch.channels_last_3d */
export const channelsLast3d = new MemoryFormat("channels_last_3d");
