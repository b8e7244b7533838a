// A Worker that fills tensors of random sizes and keeps some of them.
import { empty, type Tensor } from "../../src/index.ts";

declare const self: Worker;
const live: Tensor[] = [];
for (let i = 0; i < 1200; i++) {
  const x = empty(Math.floor(150 * 2 ** (Math.random() * 12)));
  x.fill_(1);
  live.push(x);
  if (live.length > 60) (live.splice(Math.floor(Math.random() * 60), 1)[0] as Tensor).dispose();
}
for (const x of live) x.dispose();
self.postMessage("done");
