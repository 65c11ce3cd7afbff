import { type ParseArgsConfig, parseArgs } from "node:util";
import { suggest } from "./suggest.js";
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
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options: toParseArgs(table), allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(explain(error, table));
  }
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

/** The form in which node:util takes a table. */
export function toParseArgs(table: OptionTable): NonNullable<ParseArgsConfig["options"]> {
  return Object.fromEntries(
    Object.entries(table).map(([name, { type, multiple, short }]) => [
      name,
      { type, ...(multiple ? { multiple } : {}), ...(short ? { short } : {}) },
    ]),
  );
}

/** The lines of help for a table, aligned. */
export function describeOptions(table: OptionTable): string[] {
  const rows = Object.entries(table).map(([name, spec]) => {
    const value = spec.type === "string" ? ` <${spec.placeholder ?? spec.choices?.join("|") ?? name}>` : "";
    const repeatable = spec.multiple ? "; may be repeated" : "";
    return [`${spec.short ? `-${spec.short}, ` : ""}--${name}${value}`, `${spec.help}${repeatable}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`);
}

function explain(error: unknown, table: OptionTable): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
  if (unknown === undefined) return `${(message.split("\n", 1)[0] ?? "").replace(/\.$/, "")}.`;
  const near = suggest(unknown.replace(/^-+/, ""), Object.keys(table));
  return `There is no option ${unknown}.${near === undefined ? "" : ` Did you mean --${near}?`}`;
}
