//! The complex number type of the library: two reals of type T (a float, or a vector of floats).

pub fn Complex(comptime T: type) type {
    const Pair = struct {
        re: T,
        im: T,
        pub const Real = T;
        pub const is_complex_number = true;
    };
    const ExternPair = extern struct {
        re: T,
        im: T,
        pub const Real = T;
        pub const is_complex_number = true;
    };
    // Scalars have C's layout, so that arrays of them can be read in place; vectors never leave registers.
    return if (@typeInfo(T) == .vector) Pair else ExternPair;
}

pub fn is_complex(comptime T: type) bool {
    return @typeInfo(T) == .@"struct" and @hasDecl(T, "is_complex_number");
}
