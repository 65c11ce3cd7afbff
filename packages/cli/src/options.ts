import { type ParseArgsConfig, parseArgs } from "node:util";
import { suggest } from "@wirescope/tool-server/suggest";
import { type Meaning, twoColumns } from "./output/two-columns.js";
import { UsageError } from "./usage-error.js";

/** An option of a command: how it is parsed and what its line of help says. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** May be given several times. */
  readonly multiple?: true;
  readonly short?: string;
  /** What stands for the value in the help, such as `file`. */
  readonly placeholder?: string;
  /** The only values that it takes. */
  readonly choices?: readonly string[];
  readonly help: string;
}

/** Options by name, without the dashes. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** What the options of a table are parsed to. */
export type OptionValues<T extends OptionTable> = {
  readonly [K in keyof T]: T[K] extends { readonly type: "boolean" }
    ? boolean
    : T[K] extends { readonly multiple: true }
      ? readonly string[]
      : string | undefined;
};

/** Options that every command has. */
export const commonOptions = {
  help: { type: "boolean", short: "h", help: "show this help" },
  "no-color": { type: "boolean", help: "no colours (also NO_COLOR=1; FORCE_COLOR=1 forces them)" },
} as const;

/** Parses the arguments of a command by its table. Throws a UsageError. */
export function parseOptions<T extends OptionTable>(
  table: T,
  args: readonly string[],
): { readonly values: OptionValues<T>; readonly positionals: readonly string[] } {
  const options = toParseArgs(table);
  let parsed: { values: Record<string, unknown>; positionals: string[]; tokens: readonly { kind: string }[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true, tokens: true });
  } catch (error) {
    throw new UsageError(explain(error, table));
  }
  assertGivenOnce(table, parsed.tokens);
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(table)) {
    const value = parsed.values[name] ?? (spec.type === "boolean" ? false : spec.multiple ? [] : undefined);
    if (spec.choices !== undefined && typeof value === "string" && !spec.choices.includes(value)) {
      throw new UsageError(`--${name} is one of ${spec.choices.join(", ")}, not "${value}".`);
    }
    values[name] = value;
  }
  return { values: values as OptionValues<T>, positionals: parsed.positionals };
}

/** Of two values one would be passed over in silence. */
function assertGivenOnce(table: OptionTable, tokens: readonly { kind: string; name?: string }[]): void {
  const given = tokens.flatMap(({ kind, name }) => (kind === "option" && name !== undefined ? [name] : []));
  const twice = given.find((name, at) => {
    const spec = table[name];
    return spec?.type === "string" && !spec.multiple && given.indexOf(name) !== at;
  });
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice, and only one can count.`);
}

/** The form in which node:util takes a table. */
export function toParseArgs(table: OptionTable): NonNullable<ParseArgsConfig["options"]> {
  return Object.fromEntries(
    Object.entries(table).map(([name, { type, multiple, short }]) => [
      name,
      { type, ...(multiple ? { multiple } : {}), ...(short ? { short } : {}) },
    ]),
  );
}

/** The lines of help for a table, aligned, in this width. */
export function describeOptions(table: OptionTable, width?: number): string[] {
  const rows = Object.entries(table).map(([name, spec]): Meaning => {
    const repeatable = spec.multiple ? "; may be repeated" : "";
    return [`${spec.short ? `-${spec.short}, ` : ""}${written(name, spec)}`, `${spec.help}${repeatable}`];
  });
  return twoColumns(rows, width);
}

/** An option as it is written, with what stands for its value. */
function written(name: string, { type, placeholder, choices }: OptionSpec): string {
  return type === "string" ? `--${name} <${placeholder ?? choices?.join("|") ?? name}>` : `--${name}`;
}

function explain(error: unknown, table: OptionTable): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
  if (unknown === undefined) return explainValue(message, table);
  const near = suggest(unknown.replace(/^-+/, ""), Object.keys(table));
  return `There is no option ${unknown}.${near === undefined ? "" : ` Did you mean --${near}?`}`;
}

/** What is wrong with the value of an option, in our words: those of Node tell nothing of the value that is meant. */
function explainValue(message: string, table: OptionTable): string {
  const name = /^Option '(?:-\w, )?--([\w-]+)/.exec(message)?.[1] ?? "";
  const spec = table[name];
  if (spec === undefined) return `${(message.split("\n", 1)[0] ?? "").replace(/\.$/, "")}.`;
  if (spec.type === "boolean") return `--${name} takes no value.`;
  const dash = message.includes("ambiguous") ? ` One that begins with a dash is written --${name}=-….` : "";
  return `--${name} needs a value: ${written(name, spec)}.${dash}`;
}
