// topk of long rows selects by digits of keys and sorts only what it wants: compared with the whole sorted.
import { expect, test } from "bun:test";
import {
  bfloat16,
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  manualSeed,
  randint,
  randn,
  uint8,
} from "../../src/index.ts";

for (const dtype of [float16, bfloat16, float32, float64, int8, uint8, int16, int32, int64]) {
  test(`topk of ${dtype.name}`, () => {
    manualSeed(5);
    const low = dtype === uint8 ? 0 : -100;
    const wide = dtype.isFloatingPoint ? randn([3, 3000]).mul(1000).to(dtype) : randint(low, 100, [3, 3000]).to(dtype);
    const far =
      dtype.itemsize >= 4 && !dtype.isFloatingPoint ? randint(-(2 ** 30), 2 ** 30, [3, 3000]).to(dtype) : wide;
    // Their keys have digits that are zero for all of them.
    const whole = randint(0, 50, [3, 3000]).to(dtype);
    for (const x of [wide, far, whole, wide.t().contiguous().t()]) {
      for (const largest of [true, false]) {
        const [sorted] = x.sort({ dim: 1, descending: largest });
        for (const k of [1, 2, 17, 300, 2999]) {
          const [values, indices] = x.topk(k, 1, largest);
          expect(values.equal(sorted.narrow(1, 0, k))).toBe(true);
          expect(x.gather(1, indices).equal(values)).toBe(true);
          // No element twice.
          const [places] = indices.sort({ dim: 1 });
          if (k > 1)
            expect(
              places
                .narrow(1, 1, k - 1)
                .gt(places.narrow(1, 0, k - 1))
                .all()
                .item(),
            ).toBe(true);
        }
      }
    }
  });
}
