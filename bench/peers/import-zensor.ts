// The smallest program that uses the library.
import { tensor } from "zensor";

if (tensor([1, 2]).numel() !== 2) process.exit(1);
