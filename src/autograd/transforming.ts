/** How many functions are running whose derivatives a transform takes: in those, `backward` has no place. */
export const transforming = { depth: 0 };
