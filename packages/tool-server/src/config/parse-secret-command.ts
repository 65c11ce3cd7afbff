import type { SecretCommand, TemplateField } from "./entry.js";
import { at, describeKind, type EntryReader, valuePosition } from "./entry-values.js";
import type { SourcePosition } from "./finding.js";
import { isHeaderValue } from "./headers.js";
import { type JsonNode, type JsonObjectNode, memberOf } from "./json-with-positions.js";
import { parseTemplate } from "./template.js";

/** More than any real command has. */
const [maxArguments, maxArgumentLength, maxPrefixLength] = [64, 4096, 256];
const maxTimeMs = 86_400_000;
const example = 'Write {"command": ["op", "read", "op://vault/item/field"]}.';

type CommandReader = Pick<EntryReader, "syntax" | "report">;

/** The commands of `headers` or `env`: each member that is an object. */
export function namedCommandsOf(reader: EntryReader, name: "headers" | "env"): SecretCommand[] {
  return (reader.fields.get(name) ?? []).flatMap((field) => {
    const position = valuePosition(reader, field);
    const members = field.value.kind === "object" ? field.value.members : [];
    return members.flatMap(({ key, value }) => {
      if (value.kind !== "object") return [];
      const here = { ...position, ...at(value), path: [...position.path, key] };
      const target = name === "headers" ? "header" : "env";
      return parseSecretCommand(reader, value, here, { target, name: key, field: `${name}.${key}` });
    });
  });
}

/**
 * Splits OAuth settings into those without a command and the command of the client secret. `prefix` is `oauth.` in an entry, and empty
 * in the user's own file.
 */
export function splitClientSecret(
  reader: CommandReader,
  value: JsonNode,
  position: SourcePosition,
  prefix: "oauth." | "",
): { readonly settings: JsonNode; readonly commands: readonly SecretCommand[] } {
  const secret = memberOf(value, "clientSecret");
  if (value.kind !== "object" || secret?.kind !== "object") return { settings: value, commands: [] };
  const here = { ...position, ...at(secret), path: [...position.path, "clientSecret"] };
  const field = `${prefix}clientSecret`;
  const of = { target: "clientSecret", name: "clientSecret", field } as const;
  const members = value.members.filter((member) => member.value !== secret);
  if (memberOf(value, "clientId") === undefined) {
    reader.report("oauth-setting", "error", here, `${field} requires clientId.`, "Add clientId.");
  }
  return { settings: { ...value, members }, commands: parseSecretCommand(reader, secret, here, of) };
}

/** Parses `{"command": […], "prefix": "…", "timeout": …, "ttl": …}`; empty if a finding says why it is unusable. */
function parseSecretCommand(
  { syntax, report }: CommandReader,
  node: JsonObjectNode,
  position: SourcePosition,
  of: Pick<SecretCommand, "target" | "name" | "field">,
): SecretCommand[] {
  const { field, target } = of;
  const isKnown = (key: string): boolean =>
    ["command", "prefix", "timeout"].includes(key) || (key === "ttl" && target === "header");
  for (const { key, keyAt } of node.members.filter((member) => !isKnown(member.key))) {
    const here = { ...position, line: keyAt.line, column: keyAt.column, path: [...position.path, key] };
    const names = target === "header" ? "command, prefix, timeout and ttl" : "command, prefix and timeout";
    report("field-unknown", "warning", here, `${field}.${key} has no effect.`, `Known fields: ${names}.`);
  }
  const positionOf = (value: JsonNode, ...path: (string | number)[]): SourcePosition => ({
    ...position,
    ...at(value),
    path: [...position.path, ...path],
  });
  const command = memberOf(node, "command");
  if (command === undefined) {
    report("field-missing", "error", position, `${field} is an object without command.`, example);
    return [];
  }
  const words = command.kind === "array" ? command.items : [];
  const isUsable =
    words.length > 0 &&
    words.length <= maxArguments &&
    words.every((word, index) => word.kind === "string" && isArgument(word.value, index));
  if (!isUsable) {
    const what = command.kind === "array" ? "" : `, but is ${describeKind(command)}`;
    const message = `${field}.command must be a list of the program and its arguments, all strings${what}.`;
    report("field-type", "error", positionOf(command, "command"), message, `${example} There is no shell.`);
    return [];
  }
  const prefix = memberOf(node, "prefix");
  const text = prefix?.kind === "string" ? prefix.value : "";
  if (prefix !== undefined && !(prefix.kind === "string" && isPrefix(text))) {
    const message = `${field}.prefix must be a string of at most ${maxPrefixLength} characters on one line, without variables.`;
    report("field-type", "error", positionOf(prefix, "prefix"), message, 'Write "Bearer ".', { write: '"Bearer "' });
    return [];
  }
  const timeOf = (key: string): number | undefined => {
    const value = memberOf(node, key);
    if (value === undefined || !isKnown(key)) return undefined;
    if (value.kind === "number" && value.value > 0) return Math.min(Math.ceil(value.value), maxTimeMs);
    const message = `${field}.${key} must be a number, but is ${describeKind(value)}.`;
    report("field-type", "warning", positionOf(value, key), message, "Write milliseconds, a number above 0.");
    return undefined;
  };
  const args = words.map((word, index): TemplateField => {
    const template = parseTemplate(word.kind === "string" ? word.value : "", syntax);
    return { ...positionOf(word, "command", index), field: `command[${index}] of ${field}`, template };
  });
  const [timeoutMs, ttlMs] = [timeOf("timeout"), timeOf("ttl")];
  return [{ ...position, ...of, command: args, prefix: text, timeoutMs, ttlMs }];
}

function isArgument(value: string, index: number): boolean {
  return (index > 0 || value.trim() !== "") && value.length <= maxArgumentLength && !value.includes("\0");
}

function isPrefix(value: string): boolean {
  return value.length <= maxPrefixLength && isHeaderValue(`${value}.`) && !value.includes("${");
}
