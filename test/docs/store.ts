// A store that speaks as much of S3 as the examples need: objects in this program's memory, on the loopback interface.
// What stores do besides (parts, failures, wrong answers) is tested with a real server's program: test/io.
import { S3Client } from "bun";

const objects = new Map<string, Uint8Array>();

function listing(prefix: string): Response {
  const names = [...objects.keys()].filter((name) => name.startsWith(prefix)).sort();
  const rows = names.map(
    (name) => `<Contents><Key>${name}</Key><Size>${objects.get(name)?.length}</Size><ETag>"1"</ETag></Contents>`,
  );
  const counts = `<KeyCount>${rows.length}</KeyCount><IsTruncated>false</IsTruncated>`;
  const text = `<ListBucketResult><Name>examples</Name>${counts}${rows.join("")}</ListBucketResult>`;
  return new Response(text, { headers: { "content-type": "application/xml" } });
}

async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const [, , ...path] = decodeURIComponent(url.pathname).split("/");
  const key = path.join("/");
  if (request.method === "PUT") {
    objects.set(key, new Uint8Array(await request.arrayBuffer()));
    return new Response("", { headers: { etag: '"1"' } });
  }
  if (key === "") return listing(url.searchParams.get("prefix") ?? "");
  const bytes = objects.get(key);
  if (bytes === undefined) {
    return new Response("<Error><Code>NoSuchKey</Code><Message>there is none</Message></Error>", { status: 404 });
  }
  if (request.method === "DELETE") {
    objects.delete(key);
    return new Response(null, { status: 204 });
  }
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
  const begin = Number(range?.[1] ?? 0);
  const part = range === null ? bytes : bytes.slice(begin, Number(range[2] || bytes.length - 1) + 1);
  const headers: Record<string, string> = {
    etag: '"1"',
    "content-length": String(part.length),
    "last-modified": new Date(0).toUTCString(),
  };
  if (range !== null) headers["content-range"] = `bytes ${begin}-${begin + part.length - 1}/${bytes.length}`;
  if (request.method === "HEAD") return new Response(null, { headers });
  return new Response(part, { status: range === null ? 200 : 206, headers });
}

/** The server, and Bun's client for it: what the examples call `client`. */
export function startStore(): { client: S3Client; stop(): void } {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const client = new S3Client({ accessKeyId: "test", secretAccessKey: "test", region: "us-east-1", endpoint });
  return { client, stop: () => void server.stop(true) };
}
