// An S3 store for tests: moto's server on loopback, where the machine has it. ZENSOR_MOTO names the program; `.ci/run`
// installs it under .cache/engines.
import { afterAll, beforeAll, describe } from "bun:test";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { S3Client } from "bun";
import type { RemoteOptions } from "../../src/io/store/s3.ts";

const installed = join(import.meta.dir, "..", "..", ".cache", "engines", "moto", "bin", "moto_server");
const program = process.env.ZENSOR_MOTO ?? (existsSync(installed) ? installed : null);

/** The client's keys. */
const KEYS = { accessKeyId: "test", secretAccessKey: "test", region: "us-east-1" };

/** A store with one empty bucket. It runs while the tests run that are described with it, and has the rest by then. */
class Store {
  readonly bucket = "zensor-tests";
  /** Where the server answers. */
  endpoint = "";
  client!: S3Client;
  /** What functions take that use it. */
  options!: RemoteOptions;
  private server: Bun.Subprocess | undefined;

  /** The place of an object. */
  url(key: string): string {
    return `s3://${this.bucket}/${key}`;
  }

  /** What a program that is started for a test has in its environment to use the store. */
  environment(endpoint = this.endpoint): Record<string, string> {
    const { accessKeyId, secretAccessKey, region } = KEYS;
    return {
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
      S3_REGION: region,
      S3_ENDPOINT: endpoint,
    };
  }

  /** Starts the server and waits until it answers. */
  async start(): Promise<void> {
    const port = await freePort();
    const server = Bun.spawn([program as string, "-H", "127.0.0.1", "-p", String(port)], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    this.server = server;
    this.endpoint = `http://127.0.0.1:${port}`;
    for (let i = 0; ; i++) {
      const made = await fetch(`${this.endpoint}/${this.bucket}`, { method: "PUT" }).catch(() => null);
      if (made?.ok) break;
      if (i === 150 || server.exitCode !== null) throw new Error("the S3 server did not start");
      await Bun.sleep(200);
    }
    this.client = new S3Client({ ...KEYS, endpoint: this.endpoint, bucket: this.bucket });
    this.options = { client: this.client, retries: 2 };
  }

  async stop(): Promise<void> {
    this.server?.kill();
    await this.server?.exited;
  }
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

/** Describes tests that use a store. They are skipped where there is no server to run them against. */
export function describeWithStore(tests: (store: Store) => void): void {
  describe.skipIf(program === null)("a store (moto)", () => {
    const store = new Store();
    beforeAll(async () => await store.start(), 60_000);
    afterAll(async () => await store.stop());
    tests(store);
  });
}
