// Copies between the host and the device, from and to pageable memory, and pinned memory where this build has it.
import * as z from "../../src/index.ts";
import { measured, type Part } from "./parts.ts";

const SIZES = { full: [2 ** 12, 2 ** 20, 2 ** 24, 2 ** 28], small: [2 ** 10, 2 ** 16] } as const;

type Pinning = z.Tensor & { pinMemory?: () => z.Tensor };

export const transfers: Part = async (run) => {
  const canPin = typeof (z.zeros(1) as Pinning).pinMemory === "function";
  for (const bytes of run.small ? SIZES.small : SIZES.full) {
    for (const pinned of canPin ? [false, true] : [false]) {
      for (const there of [true, false]) {
        const from = pinned ? "pinned memory" : "pageable memory";
        const name = there ? `${from} to the device` : `the device to ${from}`;
        await measured(run, "transfers", { name, bytes, elements: bytes / 4 }, () => {
          const plain = z.ones(bytes / 4) as Pinning;
          const host = (pinned ? plain.pinMemory?.() : plain) as z.Tensor;
          const device = z.ones(bytes / 4, { device: "cuda" });
          return {
            body() {
              if (there) device.copy_(host, { nonBlocking: pinned });
              else host.copy_(device);
              return undefined;
            },
            dispose() {
              for (const t of new Set([plain, host, device])) t.dispose();
            },
          };
        });
      }
    }
  }
  return canPin ? undefined : { note: "this build does not pin memory" };
};
