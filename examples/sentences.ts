// Search by meaning: which sentences of "The Adventures of Tom Sawyer" say what you ask for?
//
//   bun examples/sentences.ts QUERY
//   bun examples/sentences.ts --serve [port]     then http://localhost:3000/?q=QUERY
//
// The model is all-MiniLM-L6-v2; its weights (84 MB) are fetched once into ~/.cache/zensor.
import cliProgress from "cli-progress";
import { novel } from "./gpt/data.ts";
import { Embedder } from "./sentences/embed.ts";
import { answer, type Found, index, nearest, sentencesOf } from "./sentences/search.ts";
import { weights } from "./sentences/weights.ts";

/** Tells how far something is, from its second word on: what is there already shows no bar. */
function progress(format: string): { told: (done: number, all: number) => void; stop: () => void } {
  const bar = new cliProgress.SingleBar({ format, clearOnComplete: true });
  const told = (done: number, all: number): void => {
    if (!bar.isActive) bar.start(all, done);
    bar.update(done);
  };
  return { told, stop: () => bar.stop() };
}

async function opened(): Promise<(query: string, most: number) => Found[]> {
  const fetching = progress("fetching the model {bar} {percentage} % | {value} of {total} bytes");
  const folder = await weights(fetching.told).finally(fetching.stop);
  const embedder = await Embedder.open(folder);
  const sentences = sentencesOf(await novel());
  const reading = progress("reading the novel {bar} {percentage} % | {value} of {total} sentences | {eta} s");
  const vectors = index(embedder, sentences, folder, (done) => reading.told(done, sentences.length));
  reading.stop();
  return (query, most) => nearest(embedder.embed([query]), vectors, sentences, most);
}

const [first, port] = process.argv.slice(2);
if (!first) {
  console.error("usage: bun examples/sentences.ts QUERY, or --serve [port]");
  process.exit(2);
}
try {
  const find = await opened();
  if (first === "--serve") {
    const server = Bun.serve({ port: Number(port ?? 3000), fetch: (request) => answer(request, find) });
    console.log(`listening at ${server.url}?q=QUERY`);
  } else {
    const query = process.argv.slice(2).join(" ");
    for (const { score, line, text } of find(query, 5)) console.log(`${score.toFixed(3)}  line ${line}: ${text}`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
