/** Generators and distributions. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "seedNotAnInteger",
    error: "RuntimeError",
    code: "runtime",
    text: "manualSeed expected a long, but got {type}",
  },
  {
    name: "noGenerator",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "Generator: there is none for device '{device}'",
  },
  {
    name: "stateNotBytes",
    error: "TypeError",
    code: "type",
    text: "expected a torch.ByteTensor, but got {type}",
  },
  {
    name: "stateNotAByteTensor",
    error: "TypeError",
    code: "type",
    text: "RNG state must be a torch.ByteTensor",
  },
  {
    name: "stateNotContiguous",
    error: "RuntimeError",
    code: "runtime",
    text: "RNG state must be contiguous",
  },
  {
    name: "stateOfWrongSize",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected a CPUGeneratorImplState of size {wanted} but found the input RNG state size to be {got}",
  },
  {
    name: "deviceStateOfWrongSize",
    error: "RuntimeError",
    code: "runtime",
    text: "RNG state is wrong size",
  },
  {
    name: "generatorOfOtherDevice",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected a '{wanted}' device type for generator but found '{found}'",
  },
  {
    name: "stateInvalid",
    error: "RuntimeError",
    code: "runtime",
    text: "Invalid mt19937 state",
  },
  {
    name: "boundOutOfDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "{bound} is out of bounds for {dtype}",
  },
  {
    name: "uniformRange",
    error: "RuntimeError",
    code: "runtime",
    text: "uniform_ expects to return a [from, to) range, but found from={from} > to={to}",
  },
  {
    name: "uniformDistance",
    error: "RuntimeError",
    code: "runtime",
    text:
      "uniform_ expects to-from <= std::numeric_limits<{dtype}>::max(), but found to={to} and from={from} which " +
      "result in to-from to exceed the limit",
  },
  {
    name: "normalStdNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "normal expects std >= 0.0, but found std {std}",
  },
  {
    name: "logNormalStd",
    error: "RuntimeError",
    code: "runtime",
    text: "log_normal_ expects std > 0.0, but found std={std}",
  },
  {
    name: "exponentialDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you " +
      "specified {dtype}",
  },
  {
    name: "exponentialRate",
    error: "RuntimeError",
    code: "runtime",
    text: "exponential_ expects lambda > 0.0, but found lambda={rate}",
  },
  {
    name: "cauchySigma",
    error: "RuntimeError",
    code: "runtime",
    text: "cauchy_ expects sigma > 0.0, but found sigma={sigma}",
  },
  {
    name: "cauchyDtype",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you " +
      "specified {dtype}",
  },
  {
    name: "geometricProbability",
    error: "RuntimeError",
    code: "runtime",
    text: "geometric_ expects p to be in (0, 1), but got p={p}",
  },
  {
    name: "bernoulliProbability",
    error: "RuntimeError",
    code: "runtime",
    text: "bernoulli_ expects p to be in [0, 1], but got p={p}",
  },
  {
    name: "bernoulliProbabilities",
    error: "RuntimeError",
    code: "runtime",
    text:
      "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If " +
      "so, please report an enhancement request to PyTorch.)",
  },
  {
    name: "boundsDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "check_random_bounds handles only integral, floating-point and boolean types",
  },
  {
    name: "randomRange",
    error: "RuntimeError",
    code: "runtime",
    text: "random_ expects 'from' to be less than 'to', but got from={from} >= to={to}",
  },
  {
    name: "randomRangeCast",
    error: "RuntimeError",
    code: "runtime",
    text: "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={from} >= to={to}",
  },
  {
    name: "randomKernelDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "{kernel} handles only int64, double, float and bfloat16",
  },
  {
    name: "randomFromDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "random_from_to_impl handles only integral, floating-point and boolean types",
  },
  {
    name: "randomRangeInclusive",
    error: "RuntimeError",
    code: "runtime",
    text:
      "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got " +
      "from={from} > to_inc={to}",
  },
  {
    name: "fromOutOfDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "from is out of bounds for {dtype}",
  },
  {
    name: "randpermTooLarge",
    error: "RuntimeError",
    code: "runtime",
    text: "n cannot be greater than {most} for {dtype} type.",
  },
  {
    name: "normalStdComplex",
    error: "RuntimeError",
    code: "runtime",
    text: "normal expects standard deviation to be non-complex",
  },
  {
    name: "normalStdsNegative",
    error: "RuntimeError",
    code: "runtime",
    text: "normal expects all elements of std >= 0.0",
  },
  {
    name: "multinomialOut",
    error: "RuntimeError",
    code: "runtime",
    text: "multinomial expects Long tensor out, got: {dtype}",
  },
  {
    name: "multinomialRank",
    error: "RuntimeError",
    code: "runtime",
    text: "prob_dist must be 1 or 2 dim",
  },
  {
    name: "multinomialDtype",
    error: "RuntimeError",
    code: "runtime",
    text: "multinomial only supports floating-point dtypes for input, got: {dtype}",
  },
  {
    name: "multinomialNoSamples",
    error: "RuntimeError",
    code: "runtime",
    text: "cannot sample n_sample <= 0 samples",
  },
  {
    name: "multinomialTooManySamples",
    error: "RuntimeError",
    code: "runtime",
    text: "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
  },
  {
    name: "multinomialInvalid",
    error: "RuntimeError",
    code: "runtime",
    text: "invalid multinomial distribution ({why})",
  },
  {
    name: "multinomialFailed",
    error: "RuntimeError",
    code: "runtime",
    text: "multinomial: the native call failed with status {status}",
  },
  {
    name: "multinomialProbabilities",
    error: "RuntimeError",
    code: "runtime",
    text: "probability tensor contains either `inf`, `nan` or element < 0",
  },
  {
    name: "multinomialSum",
    error: "RuntimeError",
    code: "runtime",
    text: "invalid multinomial distribution (sum of probabilities <= 0)",
  },
] as const satisfies readonly TextSchema[];
