// Scenes of probabilistic modules, for nn.test.ts.
import type { Show } from "./nn-scenes.ts";

export const PROBABILISTIC: Record<string, (show: Show) => void> = {};
