/** Memory formats. */

/** How the dimensions of a dense tensor lie in memory. @torch torch.memory_format */
export class MemoryFormat {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  toString(): string {
    return `torch.${this.name}`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

export const contiguousFormat = new MemoryFormat("contiguous_format");
export const preserveFormat = new MemoryFormat("preserve_format");
export const channelsLast = new MemoryFormat("channels_last");
export const channelsLast3d = new MemoryFormat("channels_last_3d");
