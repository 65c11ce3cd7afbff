import { type ParseArgsConfig, parseArgs } from "node:util";
import { suggest } from "@wirescope/tool-server/internal/suggest";
import { type Meaning, twoColumns } from "./output/text-layout.js";
import { UsageError } from "./usage-error.js";

/** An option of a command: how it is parsed, and its help. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** May be given several times. */
  readonly multiple?: true;
  readonly short?: string;
  /** The placeholder of the value in the help, such as `file`. */
  readonly placeholder?: string;
  /** The allowed values. */
  readonly choices?: readonly string[];
  readonly help: string;
}

/** Options by name, without the dashes. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** The parsed values of the options in a table. */
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
  "no-color": { type: "boolean", help: "disable colors (also NO_COLOR=1; FORCE_COLOR=1 enables them)" },
} as const;

/** Parses the arguments of a command by its table. Throws a UsageError. */
export function parseOptions<T extends OptionTable>(
  table: T,
  args: readonly string[],
): { readonly values: OptionValues<T>; readonly positionals: readonly string[] } {
  const options = toParseArgs(table);
  // Not strict: the tokens show what Node would reject, so its messages need not be parsed.
  const parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  const given = parsed.tokens.filter((token) => token.kind === "option");
  for (const token of given) assertUsable(table, token);
  assertGivenOnce(
    table,
    given.map(({ name }) => name),
  );
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(table)) {
    const value = parsed.values[name] ?? (spec.type === "boolean" ? false : spec.multiple ? [] : undefined);
    const given = typeof value === "string" ? [value] : Array.isArray(value) ? value.map(String) : [];
    const wrong = given.find((each) => spec.choices !== undefined && !spec.choices.includes(each));
    if (wrong !== undefined) {
      throw new UsageError(`--${name} must be one of ${spec.choices?.join(", ")}, not "${wrong}".`);
    }
    values[name] = value;
  }
  return { values: values as OptionValues<T>, positionals: parsed.positionals };
}

/** Throws if an option is repeated: one of its values would be ignored silently. */
function assertGivenOnce(table: OptionTable, given: readonly string[]): void {
  const twice = given.find((name, at) => {
    const spec = table[name];
    return spec?.type === "string" && !spec.multiple && given.indexOf(name) !== at;
  });
  if (twice !== undefined) throw new UsageError(`--${twice} is given more than once.`);
}

/** A table in the format of parseArgs in node:util. */
export function toParseArgs(table: OptionTable): NonNullable<ParseArgsConfig["options"]> {
  return Object.fromEntries(
    Object.entries(table).map(([name, { type, multiple, short }]) => [
      name,
      { type, ...(multiple ? { multiple } : {}), ...(short ? { short } : {}) },
    ]),
  );
}

/** The lines of help for a table, aligned and wrapped to this width. */
export function describeOptions(table: OptionTable, width?: number): string[] {
  const rows = Object.entries(table).map(([name, spec]): Meaning => {
    const repeatable = spec.multiple ? "; may be repeated" : "";
    return [`${spec.short ? `-${spec.short}, ` : ""}${written(name, spec)}`, `${spec.help}${repeatable}`];
  });
  return twoColumns(rows, width);
}

/** An option as it is written, with the placeholder of its value. */
function written(name: string, { type, placeholder, choices }: OptionSpec): string {
  return type === "string" ? `--${name} <${placeholder ?? choices?.join("|") ?? name}>` : `--${name}`;
}

interface GivenOption {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function assertUsable(table: OptionTable, { name, rawName, value, inlineValue }: GivenOption): void {
  const spec = Object.hasOwn(table, name) ? table[name] : undefined;
  if (spec === undefined) {
    const near = suggest(name, Object.keys(table));
    throw new UsageError(`Unknown option ${rawName}.${near === undefined ? "" : ` Did you mean --${near}?`}`);
  }
  if (spec.type === "boolean") {
    if (value !== undefined) throw new UsageError(`--${name} takes no value.`);
    return;
  }
  const isAmbiguous = value !== undefined && !inlineValue && value.length > 1 && value.startsWith("-");
  if (value !== undefined && !isAmbiguous) return;
  const dash = isAmbiguous ? ` Write a value that begins with a dash as --${name}=-….` : "";
  throw new UsageError(`--${name} requires a value: ${written(name, spec)}.${dash}`);
}
