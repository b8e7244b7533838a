/**
 * What programs of users commonly do, for the profile of the built file: what these call stands together and is there
 * at once; everything else comes into being with its first call. A program that does something else is as right, and
 * its first call of that takes some microseconds more.
 */
import type * as zensor from "../../src/index.ts";

type Zensor = typeof zensor;

/** What nearly all programs do: the files that this evaluates are evaluated when the library is imported. */
function smallest(z: Zensor): void {
  const a = z.tensor([1, 2]);
  const sum = a
    .add(z.ones([2]))
    .add(1)
    .mul(2)
    .sub(a)
    .div(2)
    .add_(1);
  z.zeros([2, 3])
    .add(z.tensor([[1], [2]]))
    .mul(1.5);
  sum.sum().item();
  sum.tolist();
}

function tensors(z: Zensor): void {
  const a = z.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const b = z.ones([2, 3]);
  const row = z.arange(3).to(z.float32);
  for (const c of [
    z.zeros([2, 3]),
    z.full([2, 3], 2),
    z.randn([2, 3]),
    z.rand([2, 3]),
    z.zerosLike(a),
    z.onesLike(a),
  ]) {
    a.add(c).sub(b).mul(c).div(b.add(1)).add_(1).mul_(2);
  }
  z.add(a, b, { alpha: 2 });
  a.add(row)
    .mul(row.reshape([1, 3]))
    .sum();
  for (const t of [
    a.neg(),
    a.abs(),
    a.exp(),
    a.log(),
    a.sqrt(),
    a.tanh(),
    a.sigmoid(),
    a.relu(),
    a.pow(2),
    a.square(),
  ]) {
    t.sum(0).toString();
  }
  for (const t of [a.mean(), a.mean(1), a.max(), a.min(), a.std(), a.argmax(1), a.prod(), a.norm()]) t.tolist();
  for (const t of [a.eq(b), a.gt(b), a.lt(2), a.ge(b), a.le(b), a.ne(b)]) t.any().item();
  for (const t of [
    a.t(),
    a.transpose(0, 1),
    a.view([3, 2]),
    a.reshape([6]),
    a.unsqueeze(0),
    a.squeeze(),
    a.flatten(),
  ]) {
    t.contiguous().clone();
  }
  for (const t of [a.at(0), a.at(z.slice(0, 1)), a.at([0, 1]), a.at(null, 0), a.at("...", 1), a.select(1, 0)])
    t.numel();
  a.at(a.gt(2)).sum().item();
  a.setAt([0, 0], 7);
  a.matmul(b.t()).softmax(1).logSoftmax(1);
  z.cat([a, b]);
  z.stack([a, b], 1).permute([2, 0, 1]).chunk(2);
  z.where(a.gt(2), a, b).clamp(0, 3).cumsum(1).sort();
  a.split(1, 1);
  a.expand([2, 2, 3]).narrow(0, 0, 1).fill_(1);
  a.copy_(b).zero_();
}

function furtherTensors(z: Zensor): void {
  const a = z.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const b = z.ones([2, 3]);
  const row = z.arange(3).to(z.float32);
  for (const t of [a.maximum(b), a.minimum(b), a.clamp(0), a.round(), a.floor(), a.sign(), a.remainder(2), a.fmod(2)]) {
    t.logicalNot().bitwiseOr(t.gt(0));
  }
  for (const t of [a.sin(), a.cos(), a.reciprocal(), a.rsqrt(), a.log1p(), a.expm1(), a.ceil(), a.erf(), a.atan2(b)]) {
    t.isnan().logicalOr(t.isinf());
  }
  for (const t of [a.cumsum(0), a.cumprod(1), a.logsumexp(1), a.amax(1), a.amin(0), a.var(1), a.median(), a.argmin()]) {
    t.nelement();
  }
  a.topk(2);
  a.maskedFill(a.gt(1), 0).maskedSelect(a.lt(1));
  a.scatter(1, z.tensor([[0], [1]], { dtype: z.int64 }), 1);
  a.flip(0).roll(1, 0).repeat(2, 1);
  a.nonzero();
  a.unbind(0);
  z.linspace(0, 1, 3).outer(row).diagonal();
  z.ones([2, 3, 3]).bmm(z.ones([2, 3, 3]));
  z.empty([2])
    .fill_(1)
    .dot(z.ones([2]));
  z.randint(0, 5, [3]).bincount();
  z.randperm(4).unique();
  z.bernoulli(z.full([3], 0.5));
  a.equal(b);
  a.to(z.int64).bitwiseAnd(1);
  a.lerp(b, 0.5).addcmul(a, b).sub_(1).div_(2).pow_(2).neg_().exp_().clamp_(0, 1).sqrt_();
  a.isclose(b).all().item();
  a.to(z.float64).to(z.int64);
  a.indexSelect(1, [0, 2]).gather(1, [[0], [1]]);
  z.allclose(a, b);
  z.manualSeed(0);
  console.assert(String(a.shape).length > 0 && `${a}`.length > 0 && a.dtype === z.float32);
}

function gradients(z: Zensor): void {
  const w = z.randn([3, 4], { requiresGrad: true });
  const b = z.zeros([4], { requiresGrad: true });
  for (let i = 0; i < 3; i++) {
    const x = z.randn([2, 3]);
    const y = x.matmul(w).add(b).tanh().relu().sigmoid();
    const loss = y.sub(1).pow(2).mean().add(y.exp().mul(0.1).sum()).div(2);
    loss.backward();
    z.noGrad(() => {
      w.sub_((w.grad as zensor.Tensor).mul(0.1));
      b.sub_(b.grad as zensor.Tensor, { alpha: 0.1 });
    });
    w.grad = null;
    b.grad = null;
  }
  z.autograd.grad(w.square().sum(), [w]);
  w.detach().reshape([12]).at(0).item();
  z.stack([w, w]).at(0).transpose(0, 1).sum(0).max().backward();
}

function classifier(z: Zensor): void {
  const w = z.randn([3, 4], { requiresGrad: true });
  const x = z.rand([5, 3]);
  const wanted = z.arange(5).remainder(4).to(z.int64).unsqueeze(1);
  const scores = x.matmul(w);
  scores.logSoftmax(1).gather(1, wanted).neg().mean().backward();
  scores.detach();
  const rates = x.matmul(w).softmax(1);
  rates.gather(1, wanted).log().sqrt().abs().sum().backward();
  const parts = z.cat([x.matmul(w), w.clamp(-1, 1)]);
  z.where(parts.gt(0), parts, parts.neg()).div(2).maximum(parts).norm().backward();
  z.noGrad(() => w.sub_((w.grad as zensor.Tensor).mul(0.1)).clamp_(-1, 1));
  w.grad?.zero_();
  scores.argmax(1).eq(wanted.squeeze(1)).to(z.float32).mean().item();
}

function modules(z: Zensor): void {
  const { nn, F } = z;
  const model = new nn.Sequential(new nn.Linear(3, 8), new nn.ReLU(), new nn.Linear(8, 2));
  for (let i = 0; i < 3; i++) {
    const out = model.forward(z.randn([4, 3]));
    F.mseLoss(out, z.zeros([4, 2])).backward();
    z.noGrad(() => {
      for (const p of model.parameters()) p.sub_((p.grad as zensor.Tensor).mul(0.1));
    });
    model.zeroGrad();
  }
  model.loadStateDict(model.stateDict());
  model.eval();
  model.train();
  String(model);
}

function dictionaries(z: Zensor): void {
  const td = new z.TensorDict({ a: z.randn([4, 3]), b: { c: z.zeros([4]) } }, [4]);
  td.set("d", z.ones([4]));
  td.get("a").add(td.get(["b", "c"]).unsqueeze(1));
  for (const one of [td.at(0), td.at(z.slice(0, 2)), td.clone(), td.reshape([2, 2]), td.unsqueeze(0), td.select("a")]) {
    one.keys();
    one.batchSize.toString();
  }
  td.update({ a: z.zeros([4, 3]) });
  td.setAt(0, td.at(1));
  z.stack([td, td], 0).at(0);
  z.cat([td, td], 0);
  z.lazyStack([td, td]).at(0).get("a");
  td.to(z.float64).apply((t: zensor.Tensor) => t.add(1));
  td.add(1).mul(2).sum();
  td.exclude("a").flattenKeys(".").unflattenKeys(".");
  td.del_("b");
  [...td.items()].length;
  [...td.keys(true, true)].length;
  td.split(2, 0);
  td.toString();
  td.zero_();
  td.permute([0]).view([4]).contiguous();
  td.lock_().unlock_();
  td.isEmpty();
}

export const programs: Readonly<Record<string, (z: Zensor) => void>> = {
  smallest,
  tensors,
  furtherTensors,
  gradients,
  classifier,
  modules,
  dictionaries,
};
