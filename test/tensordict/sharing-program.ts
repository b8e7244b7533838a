// The other side of sharing.test.ts, as a Worker or as a child process: adds one to what it is given, in place.
import { fromShared, Tensor, type tensordict } from "../../src/index.ts";

function work(message: { shared: tensordict.Shared; rounds?: number }): unknown {
  let result: unknown = null;
  for (let i = 0; i < (message.rounds ?? 1); i++) {
    const opened = fromShared(message.shared);
    const tensors = opened instanceof Tensor ? [opened] : [...opened.values({ includeNested: true, leavesOnly: true })];
    const text = String(opened);
    let sum = 0;
    for (const t of tensors as Tensor[]) {
      sum += t.to("float64").sum().item() as number;
      if (i === 0) t.add_(1);
    }
    result ??= { sum, text };
  }
  return result;
}

if (process.send) {
  process.on("message", (message) => {
    try {
      process.send?.({ result: work(message as never) });
    } catch (error) {
      process.send?.({ error: String(error) });
    }
  });
} else {
  declareWorker();
}

function declareWorker(): void {
  const scope = globalThis as unknown as { onmessage: (event: { data: never }) => void; postMessage(x: unknown): void };
  scope.onmessage = ({ data }) => {
    try {
      scope.postMessage({ result: work(data) });
    } catch (error) {
      scope.postMessage({ error: String(error) });
    }
  };
}
