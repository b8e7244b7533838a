// The smallest program.
export {};
