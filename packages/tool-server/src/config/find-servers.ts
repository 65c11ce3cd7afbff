import {
  type DialectName,
  dialectOf,
  dialectOfEntry,
  dialectOfFile,
  dialects,
  isServerJson,
  looksLikeToml,
} from "./dialects.js";
import { quoteName, type Report } from "./finding.js";
import { type InputDefinition, parseInputs } from "./inputs.js";
import {
  type JsonMember,
  type JsonNode,
  type JsonObjectNode,
  type JsonPath,
  memberOf,
  type ParsedJson,
  parseJsonWithPositions,
} from "./json-with-positions.js";
import { registryServers } from "./registry-server.js";
import { parseTomlWithPositions } from "./toml-with-positions.js";

/** Parses the text of a file, as JSON with comments or as TOML. */
export function parseText(text: string, file?: string): ParsedJson {
  if (dialectOfFile(file) === "codex" || looksLikeToml(text)) return parseTomlWithPositions(text);
  return parseJsonWithPositions(text, { allowComments: true });
}

/** The entries of a file, and where they are. */
export interface FoundServers {
  readonly dialect: DialectName;
  /** The dialect of entries whose own fields do not identify another one. */
  readonly entryDialect: DialectName;
  readonly members: readonly { readonly member: JsonMember; readonly path: JsonPath }[];
  readonly inputs: readonly InputDefinition[];
}

/** The keys under which programs store their entries; one level deeper in VS Code's settings. */
const containers: readonly (readonly string[])[] = [
  ...new Map(
    dialects.filter(({ container }) => container.length > 0).map(({ container }) => [container.join("."), container]),
  ).values(),
  ["mcp", "servers"],
];

/** Keys that belong to a file and not to its servers. */
const otherKeys: ReadonlySet<string> = new Set(["$schema", "inputs"]);

/** Finds the entries of a file: in the objects in which programs store them, or else at the top level. */
export function findServers(root: JsonObjectNode, file: string | undefined, report: Report): FoundServers {
  const position = { line: root.line, column: root.column, path: [] };
  if (isServerJson(root)) {
    const { members, inputs } = registryServers(root, report);
    const all = members.map((member) => ({ member, path: [] }));
    return { dialect: "server-json", entryDialect: "server-json", members: all, inputs };
  }
  const inputs = parseInputs(
    root.members.find(({ key }) => key === "inputs"),
    report,
  );
  const found = containers.flatMap((path) => {
    const value = path.reduce<JsonNode | undefined>(memberOf, root);
    // A server can be called "servers".
    return value === undefined || isEntry(value) || isSettings(path, value) ? [] : [{ path, value }];
  });
  const [first] = found;
  if (first === undefined) {
    const top = root.members.filter(({ key }) => !otherKeys.has(key));
    const { name, title, container } = dialectOf(dialectOfFile(file) ?? "claude-code");
    // The settings of another program, without servers.
    const isOther =
      name !== "claude-code" &&
      container[0] !== undefined &&
      (container[0] !== "mcpServers" || !top.some(({ value }) => isEntry(value)));
    const members = isOther ? [] : top;
    if (members.length === 0) {
      const example = '{"mcpServers": {"name": {"type": "http", "url": "https://…"}}}';
      const fix = isOther ? `Add one to ${container[0]}, as ${title} requires.` : `Add one: ${example}.`;
      report("file-shape", "warning", position, "The file contains no servers.", fix);
    }
    const all = members.map((member) => ({ member, path: [] }));
    const dialect = dialectOfFile(file) ?? dialectOfTop(members);
    return { dialect, entryDialect: dialect, members: all, inputs };
  }
  reportOthers(root, new Set(found.map(({ path }) => path[0] ?? "")), report);
  const seen = new Set<string>();
  const members = found.flatMap(({ path, value }) => {
    const at = { line: value.line, column: value.column, path };
    if (value.kind !== "object") {
      const severity = found.length === 1 ? "error" : "warning";
      report("file-shape", severity, at, `${path.join(".")} is not an object.`, 'Write {"name": {…}}.');
      return [];
    }
    if (value.members.length === 0 && found.length === 1) {
      const example = path[0] === "mcp" ? '"type": "remote"' : '"type": "http"';
      const fix = `Add one: "name": {${example}, "url": "https://…"}.`;
      report("file-shape", "warning", at, "The file contains no servers.", fix);
    }
    const inner = found.filter((other) => other.path.length > path.length && other.path[0] === path[0]);
    return value.members.flatMap((member) => {
      if (inner.some((other) => other.value === member.value)) return [];
      const here = { ...member.keyAt, path: [...path, member.key] };
      if (path[0] === "mcp" && isSwitch(member)) {
        const message = `${quoteName(member.key)} only says whether a server of another file is enabled.`;
        report("file-shape", "note", here, message, "Keep it for the program that uses it.");
        return [];
      }
      const isNew = !seen.has(member.key);
      seen.add(member.key);
      if (isNew) return [{ member, path }];
      const message = `${quoteName(member.key)} is in several objects of the file; this one is not used.`;
      report("file-shape", "warning", here, message, "Remove it, or give it another name.");
      return [];
    });
  });
  const byContainer = dialects.find(({ container }) => container.join() === first.path.join())?.name ?? "vscode";
  const ofEntries = members.map(({ member, path }) => dialectOfEntry(member.value, path[0])).find(Boolean);
  // Several programs use these objects.
  const isPlain = first.path[0] === "mcpServers" || first.path.length > 1;
  return {
    dialect: dialectOfFile(file) ?? (isPlain ? ofEntries : undefined) ?? byContainer,
    entryDialect: dialectOfFile(file) ?? byContainer,
    members,
    inputs,
  };
}

/** Everything next to the servers belongs to another program, unless it looks like a server itself. */
function reportOthers(root: JsonObjectNode, known: ReadonlySet<string>, report: Report): void {
  for (const { key, keyAt, value } of root.members) {
    if (known.has(key) || otherKeys.has(key)) continue;
    const position = { line: keyAt.line, column: keyAt.column, path: [key] };
    const message = `${quoteName(key)} is not used.`;
    if (!isEntry(value)) report("file-shape", "note", position, message, "Keep it for the program that uses it.");
    else report("file-shape", "warning", position, message, "If it is a server, move it to the others.");
  }
}

/** The dialect of a file whose entries are at the top level. */
function dialectOfTop(members: readonly JsonMember[]): DialectName {
  const isDraft = members.some(({ value }) => {
    const type = memberOf(value, "type");
    return memberOf(value, "title") !== undefined || (type?.kind === "string" && type.value === "streamable-http");
  });
  return isDraft
    ? "mcp-json"
    : (members.map(({ value }) => dialectOfEntry(value, undefined)).find(Boolean) ?? "claude-code");
}

/** Whether the `mcp` object of a program has its settings, such as `servers` or `allowed`, instead of servers. */
function isSettings(path: readonly string[], value: JsonNode): boolean {
  if (path.join() !== "mcp") return false;
  if (value.kind !== "object") return true;
  return value.members.length > 0 && !value.members.some((member) => isEntry(member.value) || isSwitch(member));
}

/** Whether a member has no server, but enables or disables one of another file of opencode. */
function isSwitch({ value }: JsonMember): boolean {
  return value.kind === "object" && value.members.length === 1 && value.members[0]?.key === "enabled";
}

const locationFields: ReadonlySet<string> = new Set(["url", "command", "serverUrl", "httpUrl"]);

function isEntry(value: JsonNode): boolean {
  // None of these fields is an object, except in Zed's older files: {"url": {…}} is an object with a server called "url".
  return (
    value.kind === "object" &&
    value.members.some(
      ({ key, value: { kind } }) =>
        locationFields.has(key) && (kind === "string" || (key === "command" && kind === "array")),
    )
  );
}
