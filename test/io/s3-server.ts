// An S3 store for tests: moto's server on loopback, where the machine has it. ZENSOR_MOTO names the program; `.ci/run`
// installs it under .cache/engines.
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { S3Client } from "bun";

const installed = join(import.meta.dir, "..", "..", ".cache", "engines", "moto", "bin", "moto_server");
const program = process.env.ZENSOR_MOTO ?? (existsSync(installed) ? installed : null);

/** False where the tests of remote stores have to be skipped. */
export const hasStore = program !== null;

/** A running store with one empty bucket. */
export interface Store {
  client: S3Client;
  bucket: string;
  /** Where the server answers. */
  endpoint: string;
  stop(): Promise<void>;
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}

/** Starts the server and waits until it answers. */
export async function startStore(): Promise<Store> {
  const port = await freePort();
  const server = Bun.spawn([program as string, "-H", "127.0.0.1", "-p", String(port)], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const bucket = "zensor-tests";
  for (let i = 0; ; i++) {
    const made = await fetch(`${endpoint}/${bucket}`, { method: "PUT" }).catch(() => null);
    if (made?.ok) break;
    if (i === 150 || server.exitCode !== null) throw new Error("the S3 server did not start");
    await Bun.sleep(200);
  }
  const client = new S3Client({ accessKeyId: "test", secretAccessKey: "test", region: "us-east-1", endpoint, bucket });
  const stop = async () => {
    server.kill();
    await server.exited;
  };
  return { client, bucket, endpoint, stop };
}
