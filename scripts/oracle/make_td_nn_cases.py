"""Writes what modules of tensordict.nn give, scene by scene: test/tensordict/nn.test.ts plays the same scenes.

    python make_td_nn_cases.py OUT_FILE

A JSON object: the name of each scene, and the texts of what it shows in order. A tensor is its dtype, shape and values,
a TensorDict its batch size and its entries by key, an error its class and message.
"""
import json
import sys
import warnings

import torch
from tensordict import LazyStackedTensorDict, TensorDict, is_tensor_collection, lazy_stack
from tensordict import nn as tnn
from torch import distributions as D, nn

SCENES = {}
ERRORS = (ValueError, RuntimeError, NotImplementedError, KeyError, TypeError)


def scene(function):
    SCENES[function.__name__] = function
    return function


def number(x):
    return x if isinstance(x, (bool, int)) else "nan" if x != x else str(x) if abs(x) == float("inf") else float(f"{x:.5g}")


def seen(x):
    if isinstance(x, torch.Tensor):
        values = [number(v) for v in x.detach().reshape(-1).tolist()]
        return f"{str(x.dtype)[6:]} {list(x.shape)} {json.dumps(values)}"
    if is_tensor_collection(x):
        keys = sorted(x.keys(True, True), key=str)
        names = ["/".join(k) if isinstance(k, tuple) else k for k in keys]
        entries = sorted(zip(names, (x.get(k) for k in keys)))
        return f"{list(x.batch_size)} " + "; ".join(f"{n}: {seen(v)}" for n, v in entries)
    if isinstance(x, (tuple, list)) and any(isinstance(v, torch.Tensor) for v in x):
        return " | ".join(seen(v) for v in x)
    return str(x)


def error(run):
    try:
        return seen(run())
    except ERRORS as e:
        # str() of a KeyError has quotes, which a sentence does not need; a private class stands for its base.
        sentence = isinstance(e, KeyError) and " " in str(e.args[0])
        name = next(c.__name__ for c in type(e).__mro__ if not c.__name__.startswith("_"))
        return f"{name}: {e.args[0] if sentence else e}"


def data():
    return TensorDict({"a": torch.arange(4.0).reshape(2, 2), "b": {"c": torch.ones(2, 2)}}, [2])


def plus_one(x):
    return x + 1


@scene
def module_linear(show):
    torch.manual_seed(0)
    module = tnn.TensorDictModule(nn.Linear(2, 3), in_keys=["a"], out_keys=["out"])
    show(str(module), module.in_keys, module.out_keys, module(data()), module(torch.ones(1, 2)), module(a=torch.ones(1, 2)))
    show([name for name, _ in module.named_parameters()])


@scene
def module_nested_keys(show):
    module = tnn.TensorDictModule(lambda x, y: (x + y, x * y), in_keys=["a", ("b", "c")], out_keys=[("n", "s"), "_"])
    show(module.in_keys, module.out_keys, module(data()), module(torch.ones(1), torch.ones(1)), module(torch.ones(1), b_c=torch.ones(1)))
    show(error(lambda: module(torch.ones(1), a=torch.ones(1))))


@scene
def module_by_name(show):
    for kwargs in ({}, {"out_to_in_map": True}):
        module = tnn.TensorDictModule(lambda x, y: x - y, in_keys={"y": "a", "x": ("b", "c")}, out_keys=["d"], **kwargs)
        show(module.in_keys, module(data()))
    module = tnn.TensorDictModule(lambda x, y: x - y, in_keys={"a": "y", "z": "x"}, out_keys=["d"], out_to_in_map=False)
    show(module.in_keys, module(data().set("z", torch.zeros(2, 2))))


@scene
def module_inplace(show):
    for inplace in (True, False, "empty", None):
        module = tnn.TensorDictModule(plus_one, ["a"], ["out"], inplace=inplace)
        td = data()
        out = module(td)
        show(inplace, out is td, out, sorted(td.keys()))
    td, target = data(), TensorDict({}, [2])
    show(tnn.TensorDictModule(plus_one, ["a"], ["out"])(td, tensordict_out=target) is target, target, sorted(td.keys()))


@scene
def module_results(show):
    show(tnn.TensorDictModule(lambda x: {"p": x, "q": x * 2, "r": x}, ["a"], ["q", "p"])(data()))
    show(tnn.TensorDictModule(lambda x: TensorDict(p=x, batch_size=[2]), ["a"], ["p"])(data()))
    show(tnn.TensorDictModule(lambda x: TensorDict(p=x, batch_size=[2]), ["a"], ["q"])(data()))
    show(error(lambda: tnn.TensorDictModule(lambda x: (x, x), ["a"], ["p"])(data())))
    show(error(lambda: tnn.TensorDictModule(lambda x: x, ["a"], ["p", "q"])(data())))
    show(tnn.TensorDictModule(lambda x: None, ["a"], [])(data()))


@scene
def module_methods(show):
    class Two(nn.Module):
        def half(self, x, by=2.0):
            return x / by

    show(tnn.TensorDictModule(Two(), ["a"], ["h"], method="half")(data()))
    show(tnn.TensorDictModule(Two(), ["a"], ["h"], method="half", method_kwargs={"by": 4.0})(data()))


@scene
def module_errors(show):
    module = tnn.TensorDictModule(nn.Linear(2, 3), ["zz"], ["out"], strict=True)
    show(error(lambda: tnn.TensorDictModule(plus_one, 1, ["b"])), error(lambda: tnn.TensorDictModule(plus_one, ["a"], 1)))
    show(error(lambda: tnn.TensorDictModule(plus_one, ["a"], ["b"], inplace="yes")))
    show(error(lambda: tnn.TensorDictModule(plus_one, [1], ["b"])))
    show(error(lambda: module(data())))
    lenient = tnn.TensorDictModule(nn.Linear(2, 3), ["zz"], ["out"])
    show(error(lambda: lenient(data())))
    show(error(lambda: tnn.TensorDictModule(plus_one, ["a"], ["b"])(torch.ones(1), torch.ones(1))))


@scene
def select_out_keys(show):
    module = tnn.TensorDictModule(lambda x: (x, x * 2, x * 3), ["a"], ["p", ("q", "r"), "s"])
    show(error(lambda: module.select_out_keys("zz")), error(lambda: module.select_out_keys("p", "zz")))
    show(error(lambda: module.select_out_keys(("p", "s"))))
    show(module.select_out_keys("s", "p") is module, module.out_keys, module.out_keys_source, module(data()), module(torch.ones(1)))
    module.select_out_keys("s")
    show(module.out_keys, module(data()), module(torch.ones(1)))
    module.reset_out_keys()
    show(module.out_keys, module(data()))


def chain(**kwargs):
    return tnn.TensorDictSequential(
        tnn.TensorDictModule(lambda x: x + 1, ["a"], ["h"]),
        tnn.TensorDictModule(lambda x, y: (x * y, x), ["h", ("b", "c")], ["o", ("n", "p")]),
        tnn.TensorDictModule(lambda x: -x, ["o"], ["o"]),
        **kwargs,
    )


@scene
def sequential(show):
    seq = chain()
    show(seq.in_keys, seq.out_keys, len(seq), seq(data()), seq(torch.ones(1), torch.ones(1)))
    td = data()
    show(seq(td) is td)
    torch.manual_seed(0)
    layered = tnn.TensorDictSequential(
        tnn.TensorDictModule(nn.Linear(2, 2), ["a"], ["h"]), tnn.TensorDictModule(nn.ReLU(), ["h"], ["o"]))
    show(str(layered), [name for name, _ in layered.named_parameters()], layered(data()))
    show(str(tnn.TensorDictSequential({"first": layered[0], "second": layered[1]})))
    show(str(tnn.TensorDictSequential([layered[1]])))


@scene
def sequential_inplace(show):
    for inplace in (None, True, False, "empty"):
        td = data()
        out = chain(inplace=inplace)(td)
        show(inplace, out is td, out, sorted(td.keys()))
    td, target = data(), TensorDict({}, [2])
    show(chain()(td, tensordict_out=target) is target, target, sorted(td.keys()))


@scene
def sequential_selected(show):
    seq = chain(selected_out_keys=["o"])
    td = data()
    out = seq(td)
    show(seq.out_keys, out is td, out, seq(torch.ones(1), torch.ones(1)))
    show(error(lambda: chain(selected_out_keys=["zz"])), error(lambda: seq.select_out_keys("zz")))
    seq = chain().select_out_keys(("n", "p"), "h")
    show(seq.out_keys, seq(data()))
    show(seq.reset_out_keys().out_keys)


@scene
def sequential_partial(show):
    seq = chain(partial_tolerant=True)
    show(seq(TensorDict({"a": torch.ones(1)}, [])), seq(TensorDict({"h": torch.ones(1), "b": {"c": torch.ones(1)}}, [])))
    stack = lazy_stack([TensorDict({"a": torch.ones(1)}, []), TensorDict({"a": torch.ones(1), "b": {"c": torch.ones(1)}}, [])])
    out = seq(stack)
    show(isinstance(out, LazyStackedTensorDict), [sorted(map(str, one.keys(True, True))) for one in out.tensordicts])


@scene
def sequential_parts(show):
    seq = chain()
    show(seq.select_subsequence(out_keys=["h"]).out_keys, seq.select_subsequence(in_keys=["a"]).out_keys)
    show(seq.select_subsequence(in_keys=["h", ("b", "c")]).in_keys, error(lambda: seq.select_subsequence(in_keys=["q"])))
    show(seq[1:].in_keys, seq[:1].out_keys, seq[-1].in_keys, len(seq[:2]))
    nested = tnn.TensorDictSequential(chain(), tnn.TensorDictModule(plus_one, ["zz"], ["yy"]))
    show(nested.in_keys, nested.select_subsequence(out_keys=["h"]).out_keys, nested.select_subsequence(in_keys=["zz"]).out_keys)
    seq[2] = tnn.TensorDictModule(plus_one, ["h"], ["z"])
    show(seq.out_keys, seq(data()))
    del seq[0]
    show(seq.in_keys, seq.out_keys)
    named = tnn.TensorDictSequential({"one": chain()[0], "two": chain()[2]})
    show(named["one"].out_keys, named.in_keys)
    picked = chain(selected_out_keys=["h"])
    show(error(lambda: picked.__delitem__(0)))


@scene
def wrap(show):
    module = tnn.WrapModule(lambda td: td.select("a"))
    show(module(data()), module.in_keys, module.out_keys)
    td = data()
    show(tnn.WrapModule(lambda td: TensorDict(z=td["a"] + 1, batch_size=[2]), inplace=True, in_keys=["a"], out_keys=["z"])(td) is td, td)
    show(tnn.TensorDictSequential(lambda td: td.set("y", td["a"] * 2), tnn.TensorDictModule(plus_one, ["y"], ["z"]))(data()))


@scene
def skipping(show):
    calls = []

    def counted(x):
        calls.append(1)
        return x + 1

    module = tnn.TensorDictModule(counted, ["a"], ["o"])
    with tnn.set_skip_existing(True):
        show(module(data()), module(data().set("o", torch.zeros(2))), len(calls), tnn.skip_existing())
    with tnn.set_skip_existing(["o"]):
        show(module(data().set("o", torch.zeros(2))), len(calls))
    with tnn.set_skip_existing(["p"]):
        show(module(data().set("o", torch.zeros(2))), len(calls))
    loop = tnn.TensorDictModule(counted, ["a"], ["a"])
    with tnn.set_skip_existing(True):
        show(loop(data()), len(calls))
    show(tnn.skip_existing())


@scene
def dispatching(show):
    class Sum(tnn.TensorDictModuleBase):
        in_keys = ["a", ("b", "c")]
        out_keys = ["s", ("n", "p")]

        @tnn.dispatch(separator=".")
        def forward(self, tensordict):
            tensordict["s"] = tensordict["a"] + tensordict["b", "c"]
            tensordict["n", "p"] = tensordict["a"] * tensordict["b", "c"]
            return tensordict

    module = Sum()
    show(module(torch.ones(2), torch.ones(2)), module(**{"a": torch.ones(2), "b.c": torch.ones(2)}), module(data()))
    show(str(module), module(tensordict=data()))
    free = tnn.dispatch(source=["x"], dest=["y"])(lambda tensordict: tensordict.set("y", tensordict["x"] * tensordict.batch_size.numel()))
    show(free(torch.ones(3, 2)), error(lambda: tnn.dispatch()(lambda tensordict: tensordict)(torch.ones(1))))


@scene
def as_module(show):
    total = tnn.as_tensordict_module(in_keys=["a", ("b", "c")], out_keys="s")(lambda x, y: x + y)
    show(total(data()), total(torch.ones(1), torch.ones(1)))


@scene
def resetting(show):
    torch.manual_seed(0)
    module = tnn.TensorDictModule(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), ["a"], ["o"])
    params = TensorDict.from_module(module)
    fresh = module.reset_parameters_recursive(params.clone().zero_())
    show(fresh, TensorDict.from_module(module))
    module.reset_parameters_recursive()
    show(TensorDict.from_module(module))
    show(error(lambda: module.reset_parameters_recursive(params.expand(2))))


@scene
def normal_params(show):
    x = torch.tensor([[1.0, -2.0, 0.0, 1.0, -50.0], [0.5, 0.5, 0.5, 30.0, 3.0]])
    for mapping in ("biased_softplus_1.0", "biased_softplus_0.5_0.1", "softplus", "exp", "relu", "none", "expln", "biased_softplus"):
        show(tnn.NormalParamExtractor(mapping)(x))
    show(tnn.NormalParamExtractor(scale_lb=0.5)(x, torch.ones(1)), error(lambda: tnn.NormalParamExtractor("what")))
    show(error(lambda: tnn.mappings("biased_softplus_1_2_3")), number(tnn.inv_softplus(0.7)), tnn.inv_softplus(torch.tensor([0.1, 3.0])))
    show(str(tnn.NormalParamExtractor()))
    scale = tnn.AddStateIndependentNormalScale(3)
    show(scale(torch.zeros(2, 3), torch.ones(1)), [n for n, _ in scale.named_parameters()], error(lambda: scale(torch.zeros(2, 2))))
    show(tnn.AddStateIndependentNormalScale()(torch.zeros(2)), tnn.AddStateIndependentNormalScale((2, 1), init_value=1.0, scale_mapping="softplus")(torch.zeros(3, 2, 1)))
    buffer = tnn.AddStateIndependentNormalScale(1, make_param=False, scale_lb=2.0)
    show([n for n, _ in buffer.named_buffers()], len(list(buffer.parameters())), buffer(torch.zeros(1)))


def composite(**kwargs):
    params = TensorDict({
        "cont": {"loc": torch.arange(12.0).reshape(3, 4) / 10, "scale": torch.ones(3, 4)},
        "nested": {"disc": {"logits": torch.arange(6.0).reshape(3, 2)}},
    }, [3])
    return tnn.CompositeDistribution(params, {"cont": D.Normal, ("nested", "disc"): D.Categorical}, **kwargs)


@scene
def composite_distribution(show):
    dist = composite()
    torch.manual_seed(0)
    sample = dist.sample((2,))
    show(str(dist), sample, dist.batch_shape, dist.event_shape, len(dist), list(dist), dist["cont"], dist["nested", "disc"])
    show(dist.log_prob(sample), dist.log_prob_composite(sample, include_sum=True), dist.entropy(), dist.entropy_composite(include_sum=True))
    with tnn.set_composite_lp_aggregate(True):
        show(dist.log_prob(sample.clone()), dist.entropy(), sorted(map(str, dist.log_prob_composite(sample.clone()).keys(True, True))))
    show(dist.mode, dist.deterministic_sample, error(lambda: dist["zz"]))
    mapped = composite(name_map={("nested", "disc"): ("other", "d")}, extra_kwargs={"cont": {"validate_args": False}})
    torch.manual_seed(0)
    show(list(mapped), mapped.sample(), mapped.log_prob_key, mapped.entropy_key)
    show(error(lambda: tnn.CompositeDistribution(data(), {"zz": D.Normal})))
    torch.manual_seed(0)
    sample, lp = dist.sample_and_log_prob((2,))
    show(sample, lp)


@scene
def composite_made(show):
    coins = tnn.CompositeDistribution.from_distributions(
        TensorDict(batch_size=[2]),
        {"a": D.Uniform(torch.zeros(2), torch.ones(2)), "b": D.Uniform(torch.ones(2), 3 * torch.ones(2))}, log_prob_key="lp", entropy_key="ent")
    torch.manual_seed(0)
    sample = coins.rsample()
    show(sample, coins.log_prob_composite(sample, include_sum=True), coins.entropy_composite(include_sum=True))
    show(coins.cdf(sample) is sample, sample, coins.icdf(sample), error(lambda: coins.icdf(TensorDict(batch_size=[2]))))


@scene
def one_hot(show):
    dist = tnn.OneHotCategorical(logits=torch.tensor([[0.0, 2.0, 1.0], [1.0, 1.0, 0.5]]))
    torch.manual_seed(0)
    show(str(dist), dist.sample((2,)), dist.mode, dist.deterministic_sample, dist.log_prob(torch.tensor([[0, 1, 0], [0, 0, 1]])), dist.entropy())
    logits = torch.tensor([0.0, 2.0, 1.0], requires_grad=True)
    torch.manual_seed(1)
    out = tnn.OneHotCategorical(logits=logits).rsample((2,))
    (out * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    show(out, logits.grad)
    show(tnn.OneHotCategorical(probs=torch.tensor([[[0.5], [0.5]]])).batch_shape)
    torch.manual_seed(0)
    show(tnn.rand_one_hot(torch.zeros(4, 3)), tnn.rand_one_hot(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), do_softmax=False))


def parameters():
    return TensorDict({"loc": torch.arange(6.0).reshape(3, 2), "scale": torch.ones(3, 2) * 0.5}, [3])


def gaussian(**kwargs):
    return tnn.ProbabilisticTensorDictModule(["loc", "scale"], ["x"], distribution_class=D.Normal, **kwargs)


@scene
def probabilistic(show):
    module = gaussian()
    show(str(module), module.in_keys, module.out_keys, module.dist_sample_keys, module.dist_params_keys, str(module.get_dist(parameters())))
    for kind in ("mode", "mean", "random", "deterministic", "RANDOM"):
        torch.manual_seed(0)
        with tnn.set_interaction_type(kind):
            show(tnn.interaction_type(), module(parameters()))
    show(tnn.interaction_type(), module(parameters())["x"], error(lambda: gaussian(default_interaction_type="what")))
    show(error(lambda: gaussian(default_interaction_type="median")(parameters())))
    torch.manual_seed(0)
    show(gaussian(default_interaction_type=tnn.InteractionType.RANDOM)(torch.zeros(2), torch.ones(2)))


@scene
def probabilistic_scores(show):
    torch.manual_seed(0)
    module = gaussian(return_log_prob=True, default_interaction_type="random")
    td = module(parameters())
    show(module.out_keys, module.log_prob_key, module.log_prob_keys, td, module.log_prob(td))
    show(module(torch.zeros(2), torch.ones(2)))
    named = gaussian(return_log_prob=True, log_prob_key="score")
    show(named.out_keys, named(parameters()))
    show(error(lambda: gaussian(return_log_prob=True, log_prob_keys=["x"])))
    samples = gaussian(num_samples=2, default_interaction_type="random", return_log_prob=True)
    torch.manual_seed(0)
    show(samples(parameters()), gaussian(num_samples=(2,))(parameters()), str(samples.num_samples))
    show(error(lambda: tnn.ProbabilisticTensorDictModule(["loc", "sigma"], ["x"], distribution_class=D.Uniform)(parameters())).split("\n")[0])


@scene
def probabilistic_parameters(show):
    module = tnn.ProbabilisticTensorDictModule({"loc": "mu", "scale": ("n", "sigma")}, ["x"], distribution_class=D.Normal, distribution_kwargs={"validate_args": False})
    show(module.in_keys, module.dist_keys, module(TensorDict({"mu": torch.ones(2), "n": {"sigma": torch.ones(2)}}, [2])))
    made = tnn.ProbabilisticTensorDictModule(["loc", "scale"], ["x"], distribution_class=lambda loc, scale: D.Independent(D.Normal(loc, scale), 1), return_log_prob=True)
    show(made(parameters()))
    show(tnn.ProbabilisticTensorDictModule(["param"], ["x"])(TensorDict({"param": torch.ones(2, 3)}, [2])))
    coin = tnn.ProbabilisticTensorDictModule(["logits"], ["x"], distribution_class=tnn.OneHotCategorical, default_interaction_type="random", return_log_prob=True)
    torch.manual_seed(0)
    show(coin(TensorDict({"logits": torch.zeros(2, 3)}, [2])))


@scene
def probabilistic_generators(show):
    td = TensorDict({"loc": torch.zeros(2), "scale": torch.ones(2)}, [])
    module = gaussian(generator=7, default_interaction_type="random")
    torch.manual_seed(0)
    show(module(td)["x"], module(td)["x"], torch.rand(2))
    keyed = gaussian(generator="seed", default_interaction_type="random")
    td["seed"] = torch.tensor(7)
    show(keyed(td)["x"], int(td["seed"]), keyed(td)["x"], error(lambda: gaussian(generator=1.5)))
    owned = torch.Generator().manual_seed(7)
    show(gaussian(generator=owned, default_interaction_type="random")(td)["x"])


def policy(**kwargs):
    return tnn.ProbabilisticTensorDictSequential(
        tnn.TensorDictModule(lambda x: (x, x.abs() + 1), ["a"], ["loc", "scale"]),
        gaussian(return_log_prob=True, default_interaction_type="random"),
        **kwargs,
    )


@scene
def probabilistic_sequence(show):
    seq = policy()
    torch.manual_seed(0)
    td = seq(data())
    show(seq.in_keys, seq.out_keys, td, str(seq.get_dist(td)), seq.log_prob(td), seq.get_dist_params(data()))
    show(seq.dist_sample_keys, seq.dist_params_keys, seq.log_prob_key, seq.log_prob_keys, str(seq.default_interaction_type), seq.return_composite)
    with tnn.set_interaction_type("mode"):
        show(seq(data())["x"])
    torch.manual_seed(0)
    show(seq(torch.ones(2)), error(lambda: tnn.ProbabilisticTensorDictSequential()))
    show(error(lambda: tnn.ProbabilisticTensorDictSequential(seq[0], return_composite=False)))
    show(type(seq[:1]).__name__, type(seq[1:]).__name__)
    written = tnn.ProbabilisticTensorDictSequential(tnn.TensorDictModule(lambda x: (x, x + 1, x * 0), ["a"], ["loc", "scale", "x"]), gaussian(return_log_prob=True))
    show(written(data()))
    for inplace in (True, False, "empty"):
        td = data()
        torch.manual_seed(0)
        out = policy(inplace=inplace)(td)
        show(out is td, sorted(out.keys()), sorted(td.keys()))
    picked = policy(selected_out_keys=["x"])
    torch.manual_seed(0)
    show(picked(data()))


@scene
def probabilistic_composite(show):
    seq = tnn.ProbabilisticTensorDictSequential(
        tnn.TensorDictModule(lambda x: (x, x.abs() + 1), ["a"], ["loc", "scale"]),
        gaussian(return_log_prob=True, default_interaction_type="random"),
        tnn.TensorDictModule(lambda x: x * 2, ["x"], ["logits"]),
        tnn.ProbabilisticTensorDictModule(["logits"], ["y"], distribution_class=D.Bernoulli, return_log_prob=True, default_interaction_type="random"),
    )
    torch.manual_seed(0)
    td = seq(data())
    show(seq.return_composite, seq.out_keys, td, seq.log_prob_keys)
    torch.manual_seed(0)
    dist = seq.get_dist(data())
    show(type(dist).__name__, list(dist), seq.log_prob(td))
    whole = tnn.ProbabilisticTensorDictModule(
        ["params"], distribution_class=tnn.CompositeDistribution, return_log_prob=True, default_interaction_type="random",
        distribution_kwargs={"distribution_map": {"u": D.Normal, "v": D.Bernoulli}})
    inputs = TensorDict({"params": {"u": {"loc": torch.zeros(2), "scale": torch.ones(2)}, "v": {"probs": torch.ones(2) * 0.5}}}, [2])
    torch.manual_seed(0)
    out = whole(inputs)
    show(whole.out_keys, out.select("u", "v", "u_log_prob", "v_log_prob"), whole.log_prob(out))


@scene
def ensemble(show):
    torch.manual_seed(0)
    made = tnn.EnsembleModule(tnn.TensorDictModule(nn.Linear(2, 1), ["a"], ["o"]), 3)
    show(made.in_keys, made.out_keys, [n for n, _ in made.named_parameters()], made.params_td, made(data()))
    made(data())["o"].sum().backward()
    show(made.params_td["module", "weight"].grad, error(lambda: made.reset_parameters_recursive()))
    torch.manual_seed(1)
    split = tnn.EnsembleModule(tnn.TensorDictModule(nn.Linear(2, 1), ["a"], ["o"]), 2, expand_input=False)
    show(split(data()))


def main():
    warnings.simplefilter("ignore")
    torch.set_printoptions(precision=4)
    shown = {}
    for name, play in SCENES.items():
        texts = []
        play(lambda *values, texts=texts: texts.extend(seen(v) for v in values))
        shown[name] = texts
    with open(sys.argv[1], "w") as file:
        json.dump(shown, file, indent=1)
        file.write("\n")


main()
