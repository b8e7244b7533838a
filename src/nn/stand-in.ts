/**
 * Under this key an object that is a module in torch, and of another class here, has the module that stands for it: a
 * dictionary of parameters cannot be a function as well.
 */
export const STAND_IN = Symbol("the module that stands for it");
