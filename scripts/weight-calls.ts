// Three hundred calls such as a program makes that prepares data, trains something small and keeps records of it.
import type * as zensor from "../src/index.ts";

/** Does the calls; gives how many there were. */
export function mixedCalls(z: typeof zensor): number {
  let calls = 0;
  const call = <T>(value: T): T => {
    calls++;
    return value;
  };
  call(z.manualSeed(1));
  const data = call(z.rand([8, 4]));
  const labels = call(z.arange(8).remainder(2));
  for (let i = 0; i < 6; i++) {
    const row = call(data.at(i));
    const scaled = call(call(row.mul(2)).sub(call(row.mean())));
    call(scaled.clamp(-1, 1).maximum(scaled));
    call(call(scaled.pow(2)).sum().sqrt());
    call(call(scaled.gt(0)).any());
    call(
      call(z.cat([row, scaled]))
        .reshape([2, 4])
        .t(),
    );
    call(call(z.stack([row, scaled])).sum(0));
    call(call(data.select(1, 0)).topk(2)[0]);
    call(call(data.unsqueeze(0)).expand([3, 8, 4]).transpose(0, 1).contiguous());
    call(call(data.sort(0)[1]).to(z.float64));
    call(call(data.cumsum(0)).argmax(1));
    call(call(z.where(data.gt(0.5), data, 0)).maskedFill(data.lt(0.1), 1));
  }
  const weight = call(z.randn([4, 2], { requiresGrad: true }));
  const bias = call(z.zeros([2], { requiresGrad: true }));
  for (let i = 0; i < 6; i++) {
    const hidden = call(call(data.matmul(weight)).add(bias));
    const rates = call(call(hidden.tanh()).softmax(1));
    const loss = call(
      call(rates.gather(1, labels.to(z.int64).unsqueeze(1)))
        .log()
        .neg()
        .mean(),
    );
    call(loss.backward());
    call(z.noGrad(() => weight.sub_((weight.grad as zensor.Tensor).mul(0.1))));
    call(z.noGrad(() => bias.sub_(bias.grad as zensor.Tensor)));
    call(weight.grad?.zero_());
    call(bias.grad?.zero_());
    call(loss.item());
    call(call(weight.detach()).norm());
  }
  const records = call(new z.TensorDict({ x: data, y: labels, more: { z: call(z.ones([8, 3])) } }, [8]));
  for (let i = 0; i < 6; i++) {
    const one = call(records.at(i));
    call(one.get("x"));
    call(one.get(["more", "z"]));
    call(records.set("x", data.add(i)));
    call(records.at(z.slice(0, 4)).clone());
    call(call(z.stack([one, one])).batchSize);
    call(call(z.cat([records, records])).keys());
    call(call(records.to(z.float64)).select("x"));
    call(call(records.apply((t: zensor.Tensor) => t.mul(2))).reshape([2, 4]));
    call(call(records.flattenKeys(".")).isEmpty());
    call(records.setAt(i, one));
    call(records.toString());
  }
  return calls;
}
