import type { OptionSpec } from "../options.js";

/** What a shell completes at one position. */
export type Completed =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "file" }
  /** Ids, read from the target. */
  | { readonly kind: "ids" }
  /** Names, read from the target. */
  | { readonly kind: "names" }
  | { readonly kind: "nothing" };

/** An option of a command, for completion. */
export interface CompletedOption {
  /** With dashes. */
  readonly flag: string;
  readonly help: string;
  /** What its value is; undefined if it takes none. */
  readonly value: Completed | undefined;
}

/** A command, for completion. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** Its first argument. */
  readonly argument: Completed;
}

/** The part of a command that completion needs. */
export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly parameters: readonly string[];
  readonly options: Readonly<Record<string, OptionSpec>>;
}

/** What a shell completes for these commands. */
export function completedCommands(commands: readonly CommandWords[]): CompletedCommand[] {
  return commands.map(({ name, summary, parameters, options }) => ({
    name,
    summary,
    options: Object.entries(options).map(([option, spec]) => ({
      flag: `--${option}`,
      help: spec.help,
      value: spec.type === "boolean" ? undefined : optionValueOf(spec),
    })),
    argument: argumentOf(parameters[0]),
  }));
}

function optionValueOf({ choices, placeholder = "" }: OptionSpec): Completed {
  if (choices !== undefined) return { kind: "choices", choices };
  if (placeholder === "id") return { kind: "ids" };
  return /file|path|folder|directory/.test(placeholder) ? { kind: "file" } : { kind: "nothing" };
}

function argumentOf(parameter: string | undefined): Completed {
  if (parameter === undefined) return { kind: "nothing" };
  if (parameter === "<id>") return { kind: "ids" };
  if (parameter.includes("certificate")) return { kind: "names" };
  if (/file/.test(parameter)) return { kind: "file" };
  const words = parameter.replace(/[<>[\]]/g, "").split("|");
  // The parts of `<server|url>` are placeholders, not words to type.
  const isChoice = words.length > 1 && words.every((word) => ["on", "off", "bash", "zsh", "fish"].includes(word));
  return isChoice ? { kind: "choices", choices: words } : { kind: "nothing" };
}
