import { quoteName, type Report } from "./finding.js";
import { type JsonMember, type JsonNode, jsonNodeToValue, memberOf } from "./json-with-positions.js";

/** A value that the user is asked for, referenced by `${input:id}`. */
export interface InputDefinition {
  readonly id: string;
  /** What to enter, for the prompt. */
  readonly description: string | undefined;
  /** Whether the value is a secret. */
  readonly isSecret: boolean;
  /** The value that the prompt suggests. */
  readonly suggestion: string | undefined;
  /** The only values to choose from; empty: any. */
  readonly choices: readonly string[];
  /** The definition as written, which an approval covers. */
  readonly written: unknown;
}

/** The key of the definitions in the written form of an entry that uses them. No program has such a field. */
export const inputsKey = "$inputs";

/** No file needs more. */
const maxInputs = 256;

/** Parses the `inputs` of a file. An invalid input is reported, and is undefined for the entries that use it. */
export function parseInputs(member: JsonMember | undefined, report: Report): InputDefinition[] {
  if (member === undefined) return [];
  const position = { line: member.keyAt.line, column: member.keyAt.column, path: [member.key] };
  if (member.value.kind !== "array") {
    const fix = 'Write [{"id": "…", "type": "promptString", "description": "…"}].';
    report("input-shape", "warning", position, "inputs is not an array, so none of them is known.", fix);
    return [];
  }
  return member.value.items.slice(0, maxInputs).flatMap((item, index): InputDefinition[] => {
    const stringOf = (name: string): string | undefined => {
      const node = memberOf(item, name);
      return node?.kind === "string" ? node.value : undefined;
    };
    const here = { line: item.line, column: item.column, path: [member.key, index] };
    const id = stringOf("id");
    if (id === undefined) {
      report("input-shape", "warning", here, "The input has no id.", 'Write "id": "…".');
      return [];
    }
    if (stringOf("type") === "command") {
      const message = `The input ${quoteName(id)} is the result of a command of VS Code, which cannot be run here.`;
      report("input-shape", "note", here, message, "You are asked for it instead.");
    }
    const options = memberOf(item, "options");
    const choices = options?.kind === "array" ? options.items.flatMap((each) => labelOf(each)) : [];
    const password = memberOf(item, "password");
    return [
      {
        id,
        description: stringOf("description"),
        isSecret: password?.kind === "boolean" && password.value,
        suggestion: stringOf("default"),
        choices,
        written: jsonNodeToValue(item),
      },
    ];
  });
}

function labelOf(node: JsonNode): string[] {
  if (node.kind === "string") return [node.value];
  const value = memberOf(node, "value");
  return value?.kind === "string" ? [value.value] : [];
}
