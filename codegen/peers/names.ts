// The public names of torch, numpy and tensordict (scripts/oracle/make_peer_names.py).
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Peers = Readonly<Record<string, readonly string[]>> & { versions: Readonly<Record<string, string>> };

export const PEERS: Peers = JSON.parse(readFileSync(join(import.meta.dir, "names.json"), "utf8"));
