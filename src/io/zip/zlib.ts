// The runtime's compression, loaded when it is first used: it takes a quarter of the time that this library takes.
interface WithInfo {
  inflateRawSync(
    data: Uint8Array,
    options: { maxOutputLength: number; info: true },
  ): { buffer: Uint8Array; engine: { bytesWritten: number } };
  inflateRawSync(data: Uint8Array, options: { maxOutputLength: number; finishFlush: number }): Uint8Array;
}

type Zlib = WithInfo & typeof import("node:zlib");

let loaded: Zlib | undefined;

/** `node:zlib`. */
export function zlib(): Zlib {
  loaded ??= process.getBuiltinModule("node:zlib") as Zlib;
  return loaded;
}
