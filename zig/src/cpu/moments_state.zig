//! What is known of a set of numbers: enough for their variance and mean, and for those of unions.

/// Count, mean and sum of squared distances from the mean of some elements.
pub const State = extern struct {
    n: f64 = 0,
    mean: f64 = 0,
    m2: f64 = 0,

    /// The state of both sets together.
    pub inline fn join(a: State, b: State) State {
        if (b.n == 0) return a;
        if (a.n == 0) return b;
        const n = a.n + b.n;
        const delta = b.mean - a.mean;
        const share = b.n / n;
        return .{ .n = n, .mean = a.mean + delta * share, .m2 = a.m2 + b.m2 + delta * delta * a.n * share };
    }
};
