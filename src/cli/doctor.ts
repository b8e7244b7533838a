// `zensor doctor`: what was found on this machine and what that means, one line each.
import { readFileSync } from "node:fs";
import { cpus, freemem, totalmem } from "node:os";
import { problem } from "../cuda/driver.ts";
import { deviceCount, getDeviceName, getDeviceProperties, getDriverVersion } from "../cuda/index.ts";
import { hdf5Engine } from "../io/hdf5/hdf5.ts";
import { bestInstructionSet, instructionSet, libraryFile, threadCount } from "../tensor/system.ts";
import { color } from "./colors.ts";
import { say } from "./output.ts";
import { bytesText, printable } from "./text.ts";

export interface Finding {
  what: string;
  found: boolean;
  /** What it is, or why it is not there. */
  detail: string;
  /** What that means for programs. */
  meaning: string;
}

const set = (name: string): boolean => (process.env[name] ?? "") !== "";
const because = (name: string): string => (set(name) ? `, because ${name} says so` : "");

function library(version: string): Finding {
  const file = libraryFile();
  const place = set("ZENSOR_LIBRARY")
    ? "named by ZENSOR_LIBRARY"
    : (/[\\/](zensor-(?:linux|darwin|win32)-[\w-]+)[\\/]/.exec(file)?.[1] ??
      "built in a clone, beside the program or within it");
  const platform = `${process.platform} on ${process.arch}, Bun ${Bun.version}`;
  return { what: "library", found: true, detail: `${file} (${place})`, meaning: `zensor ${version}, ${platform}` };
}

function instructions(): Finding {
  const [used, best] = [instructionSet(), bestInstructionSet()];
  const meaning =
    used === best ? "the widest that this processor has" : `slower than ${best} would be${because("ZENSOR_ISA")}`;
  return { what: "instructions", found: true, detail: used, meaning };
}

function threads(): Finding {
  const [used, cores] = [threadCount(), cpus().length];
  const meaning = `of ${cores} that the system shows${because("ZENSOR_NUM_THREADS")}`;
  return { what: "threads", found: true, detail: String(used), meaning };
}

function memory(): Finding {
  const detail = `${bytesText(freemem())} of ${bytesText(totalmem())} free`;
  return { what: "memory", found: true, detail, meaning: "files that are mapped need none of it at once" };
}

/** Linux lists the ways and has the chosen one in brackets. */
function hugePages(): Finding {
  const what = "huge pages";
  let text: string;
  try {
    text = readFileSync("/sys/kernel/mm/transparent_hugepage/enabled", "utf8");
  } catch {
    return {
      what,
      found: false,
      detail: "this system tells nothing about them",
      meaning: "large tensors lie on small pages",
    };
  }
  const chosen = /\[(\w+)\]/.exec(text)?.[1] ?? "unknown";
  if (chosen === "always" || chosen === "madvise") {
    return { what, found: true, detail: chosen, meaning: "tensors from 32 KiB on ask for them" };
  }
  return { what, found: false, detail: chosen, meaning: "fresh large tensors cost more page faults" };
}

function cuda(): Finding {
  const trouble = problem();
  const cpu = 'tensors are on the CPU, and { device: "cuda" } is refused';
  if (trouble !== null) return { what: "CUDA", found: false, detail: firstLine(trouble.message), meaning: cpu };
  const devices = Array.from({ length: deviceCount() }, (_, i) => {
    return `cuda:${i} ${getDeviceName(i)} (${bytesText(getDeviceProperties(i).totalMemory)})`;
  });
  const meaning =
    '{ device: "cuda" } computes there, with kernels that are in zensor\'s library; nothing is moved by itself';
  return { what: "CUDA", found: true, detail: `${devices.join(", ")}; driver ${getDriverVersion()}`, meaning };
}

function hdf5(): Finding {
  const engine = hdf5Engine();
  if (engine !== null) return { what: "HDF5", found: true, detail: engine, meaning: "HDF5 files are read and written" };
  const meaning = "install libhdf5, or the npm package h5wasm, for HDF5 files; ZENSOR_HDF5 names a library";
  return { what: "HDF5", found: false, detail: "no libhdf5", meaning };
}

function mpi(): Finding {
  const file = Bun.which("mpiexec") ?? Bun.which("mpirun");
  const meaning = "not used: zensor has no collectives; Workers and child processes share tensors without it";
  return { what: "MPI", found: file !== null, detail: file ?? "no mpiexec on the PATH", meaning };
}

/** Names of what is set; never what it is set to. */
function s3(): Finding {
  const names = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ENDPOINT", "REGION", "BUCKET", "SESSION_TOKEN"]
    .flatMap((name) => [`S3_${name}`, `AWS_${name}`])
    .filter(set);
  const keys = names.some((n) => n.endsWith("_KEY_ID")) && names.some((n) => n.endsWith("SECRET_ACCESS_KEY"));
  const meaning = keys ? "s3://bucket/key is read and written" : "S3 needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY";
  return {
    what: "S3",
    found: keys,
    detail: names.length === 0 ? "nothing is set" : `set: ${names.join(", ")}`,
    meaning,
  };
}

const firstLine = (text: string): string => text.split(/[\n.]/)[0] ?? "";

export function findings(version: string): Finding[] {
  return [library(version), instructions(), threads(), memory(), hugePages(), cuda(), hdf5(), mpi(), s3()];
}

/** Prints the findings; never fails for what is not there. */
export function doctor(version: string, options: { json?: boolean }): void {
  const found = findings(version);
  if (options.json) {
    say(JSON.stringify(found, null, 2));
    return;
  }
  for (const { what, found: there, detail, meaning } of found) {
    const word = there ? color("green", "found    ") : color("yellow", "not found");
    say(`${word}  ${what.padEnd(12)}  ${printable(detail)}\n${" ".repeat(25)}${meaning}`);
  }
}
