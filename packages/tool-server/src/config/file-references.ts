import { dirname, isAbsolute, resolve } from "node:path";
import type { FieldName } from "./entry.js";
import { type JsonNode, jsonNodeAt } from "./json-with-positions.js";

/** `{file:path}` at the end of a value: the text before it, and the path, which may contain variables. */
const fileReference = /^([^{}]*)\{file:((?:[^{}]|\{env:[^{}]*\})+)\}$/;

/**
 * Replaces `{file:path}` in the values that may be secrets by the command that prints the file, so that nothing is read before an approval
 * that shows the path. A relative path starts at the folder of the configuration file, `~/` at the home directory.
 */
export function withFileCommands(field: FieldName, value: JsonNode, file: string | undefined): JsonNode {
  if (value.kind !== "object") return value;
  const members = value.members.map((member) => {
    const canBeCommand = field === "headers" || field === "env" || (field === "oauth" && member.key === "clientSecret");
    return canBeCommand ? { ...member, value: commandOf(member.value, file) } : member;
  });
  return { ...value, members };
}

function commandOf(value: JsonNode, file: string | undefined): JsonNode {
  const [, prefix, path] = (value.kind === "string" && fileReference.exec(value.value)) || [];
  if (prefix === undefined || path === undefined) return value;
  const command = ["cat", pathOf(path, file)];
  return jsonNodeAt(prefix === "" ? { command } : { command, prefix }, value);
}

function pathOf(path: string, file: string | undefined): string {
  if (path.startsWith("~/")) return `\${userHome}${path.slice(1)}`;
  if (isAbsolute(path) || path.startsWith("{env:")) return path;
  return file === undefined ? `./${path}` : resolve(dirname(file), path);
}
