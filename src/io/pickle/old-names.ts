// Pickles before protocol 3 have Python 2's names for what is built in, also those that Python 3 writes.

const MODULES: Readonly<Record<string, string>> = {
  __builtin__: "builtins",
  copy_reg: "copyreg",
  Queue: "queue",
  ConfigParser: "configparser",
  SocketServer: "socketserver",
};

const NAMES: Readonly<Record<string, readonly [module: string, name: string]>> = {
  "__builtin__.xrange": ["builtins", "range"],
  "__builtin__.reduce": ["functools", "reduce"],
  "__builtin__.intern": ["sys", "intern"],
  "__builtin__.unichr": ["builtins", "chr"],
  "__builtin__.unicode": ["builtins", "str"],
  "__builtin__.long": ["builtins", "int"],
  "itertools.izip": ["builtins", "zip"],
  "itertools.imap": ["builtins", "map"],
  "itertools.ifilter": ["builtins", "filter"],
  "UserDict.IterableUserDict": ["collections", "UserDict"],
  "UserList.UserList": ["collections", "UserList"],
  "UserString.UserString": ["collections", "UserString"],
};

const EXCEPTIONS = new Set(
  (
    "ArithmeticError AssertionError AttributeError BaseException BufferError BytesWarning DeprecationWarning " +
    "EOFError " +
    "EnvironmentError Exception FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning " +
    "IndentationError IndexError KeyError KeyboardInterrupt LookupError MemoryError NameError NotImplementedError " +
    "OSError OverflowError PendingDeprecationWarning ReferenceError RuntimeError RuntimeWarning StopIteration " +
    "SyntaxError SyntaxWarning SystemError SystemExit TabError TypeError UnboundLocalError UnicodeDecodeError " +
    "UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning " +
    "ZeroDivisionError"
  ).split(" "),
);

/** Today's module and name of what an old pickle names. */
export function todaysName(module: string, name: string): readonly [module: string, name: string] {
  const full = `${module}.${name}`;
  if (Object.hasOwn(NAMES, full)) return NAMES[full] as readonly [string, string];
  if (module === "exceptions" && EXCEPTIONS.has(name)) return ["builtins", name];
  return [Object.hasOwn(MODULES, module) ? (MODULES[module] as string) : module, name];
}
