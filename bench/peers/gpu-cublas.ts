// Products by cuBLAS, in a process of its own: one JSON line in, one JSON line out. A request {"dtype", "size"} makes
// the matrices, {"n": calls} times them. `ZENSOR_CUBLAS` lists the libraries to try.
import { dlopen, FFIType, ptr } from "bun:ffi";
import { onDevice } from "../../scripts/gpu/timing.ts";
import * as z from "../../src/index.ts";

const { i32, u64, ptr: P } = FFIType;
/** handle, two operations, m n k, alpha, A type lda, B type ldb, beta, C type ldc, compute type, algorithm. */
const GEMM = [u64, i32, i32, i32, i32, i32, P, u64, i32, i32, u64, i32, i32, P, u64, i32, i32, i32, i32];
const SYMBOLS = {
  cublasCreate_v2: { args: [P], returns: i32 },
  cublasGetVersion_v2: { args: [u64, P], returns: i32 },
  cublasGemmEx: { args: GEMM, returns: i32 },
} as const;

/** cudaDataType and cublasComputeType; the bytes of one in the type that numbers are given in. */
const TYPES: Readonly<Record<string, { data: number; compute: number; dtype: string; one: NodeJS.TypedArray }>> = {
  f32: { data: 0, compute: 68, dtype: "float32", one: Float32Array.of(1) },
  tf32: { data: 0, compute: 77, dtype: "float32", one: Float32Array.of(1) },
  f16: { data: 2, compute: 68, dtype: "float16", one: Float32Array.of(1) },
  bf16: { data: 14, compute: 68, dtype: "bfloat16", one: Float32Array.of(1) },
  f64: { data: 1, compute: 70, dtype: "float64", one: Float64Array.of(1) },
};

const DEFAULT_ALGORITHM = -1;

function open(): ReturnType<typeof dlopen<typeof SYMBOLS>> | null {
  for (const name of JSON.parse(process.env.ZENSOR_CUBLAS ?? "[]") as string[]) {
    try {
      return dlopen(name, SYMBOLS);
    } catch {
      // Not there, or of another kind: the next one.
    }
  }
  return null;
}

const reply = (values: object): void => void process.stdout.write(`${JSON.stringify(values)}\n`);

function checked(status: number): void {
  if (status !== 0) throw new Error(`cuBLAS gives status ${status}`);
}

async function main(): Promise<void> {
  const library = open();
  if (library === null) return reply({ versions: null });
  const { cublasCreate_v2, cublasGetVersion_v2, cublasGemmEx } = library.symbols;
  // The first tensor makes the device's context current, which cuBLAS takes.
  let operands: z.Tensor[] = [z.zeros(1, { device: "cuda" })];
  const place = new BigUint64Array(1);
  checked(cublasCreate_v2(ptr(place)));
  const handle = place[0] as bigint;
  const version = new Int32Array(1);
  checked(cublasGetVersion_v2(handle, ptr(version)));
  reply({ versions: `cuBLAS ${version[0]}` });
  let call = (): undefined => undefined;
  for await (const line of console) {
    // The end of what is asked.
    if (line === "") break;
    const request = JSON.parse(line) as { dtype?: string; size?: number; n?: number };
    try {
      if (request.n !== undefined) {
        reply({ seconds: onDevice(call, request.n) });
        continue;
      }
      const { data, compute, dtype, one } = TYPES[request.dtype as string] as (typeof TYPES)[string];
      const size = request.size as number;
      for (const t of operands) t.dispose();
      operands = [0, 1, 2].map(() => z.ones(size, size, { device: "cuda", dtype: dtype as never }));
      const [a, b, c] = operands.map((t) => BigInt(t.dataPtr())) as [bigint, bigint, bigint];
      const [alpha, beta] = [one, new (one.constructor as Float32ArrayConstructor)(1)];
      call = () => {
        const matrix = [data, size] as const;
        const numbers = [ptr(alpha), ptr(beta)] as const;
        const sizes = [0, 0, size, size, size] as const;
        const last = [compute, DEFAULT_ALGORITHM] as const;
        checked(
          cublasGemmEx(handle, ...sizes, numbers[0], a, ...matrix, b, ...matrix, numbers[1], c, ...matrix, ...last),
        );
        return undefined;
      };
      call();
      z.cuda.synchronize();
      reply({ ready: true });
    } catch (error) {
      reply({ error: (error as Error).message });
    }
  }
}

await main();
