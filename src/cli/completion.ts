// `zensor completion`: a script for the shell that completes commands, options and their values.
import type { Command } from "commander";
import { dtypes } from "../tensor/dtype.ts";
import { COLOR_TIMES } from "./colors.ts";
import { CliError, EXIT } from "./errors.ts";
import { FORMATS } from "./formats.ts";
import { suggestion } from "./near.ts";

const SHELLS = ["bash", "zsh", "fish"];

/** Words that an option takes; all others take files, or text. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "--from": Object.keys(FORMATS),
  "--to": Object.entries(FORMATS).flatMap(([name, { written }]) => (written ? [name] : [])),
  "--dtype": dtypes.map(({ name }) => name),
  "--color": COLOR_TIMES,
};

interface Words {
  commands: string[];
  options: Map<string, string[]>;
}

function wordsOf(program: Command): Words {
  const options = new Map<string, string[]>();
  for (const command of program.commands) {
    options.set(
      command.name(),
      command.options.map((option) => option.long as string),
    );
  }
  return { commands: [...options.keys()], options };
}

function bash({ commands, options }: Words): string {
  const values = Object.entries(VALUES).map(([name, words]) => `    ${name}) words="${words.join(" ")}" ;;`);
  const cases = [...options].map(([name, words]) => `      ${name}) words="${words.join(" ")}" ;;`);
  return `_zensor() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  case "$before" in
${values.join("\n")}
    completion) words="${SHELLS.join(" ")}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.join(" ")}"
  elif [ -z "$words" ] && [[ "$word" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ "\${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -o filenames -F _zensor zensor`;
}

function zsh(words: Words): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(words)}`;
}

function fish({ commands, options }: Words): string {
  const lines = [
    `complete -c zensor -n __fish_use_subcommand -a "${commands.join(" ")}"`,
    `complete -c zensor -n "__fish_seen_subcommand_from completion" -f -a "${SHELLS.join(" ")}"`,
  ];
  for (const [name, words] of options) {
    for (const word of words) {
      const values = VALUES[word] === undefined ? "" : ` -x -a "${VALUES[word].join(" ")}"`;
      lines.push(`complete -c zensor -n "__fish_seen_subcommand_from ${name}" -l ${word.slice(2)}${values}`);
    }
  }
  return lines.join("\n");
}

/** The script for one shell. */
export function completion(shell: string, program: Command): string {
  const words = wordsOf(program);
  switch (shell) {
    case "bash":
      return bash(words);
    case "zsh":
      return zsh(words);
    case "fish":
      return fish(words);
    default:
      throw new CliError(
        `no completion for ${JSON.stringify(shell)}: bash, zsh or fish.${suggestion(shell, SHELLS)}`,
        EXIT.usage,
      );
  }
}
