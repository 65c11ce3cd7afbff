import { jsonNodeToValue, parseJsonWithPositions } from "../config/json-with-positions.js";
import type { Approval } from "./approval.js";
import type { EntryFingerprint, FileFingerprint } from "./fingerprint-entry.js";

const format = "wirescope-approvals";
const version = 1;

/** The maximum length of an approvals file, in characters. */
export const maxApprovalCharacters: number = 16 * 1_048_576;

/** Parses an approvals file, or says what is wrong with it without quoting it. */
export function parseApprovals(text: string): readonly Approval[] | { readonly problem: string } {
  const { root, problems } = parseJsonWithPositions(text, { maxLength: maxApprovalCharacters, maxDepth: 80 });
  const [first] = problems;
  if (first !== undefined) return { problem: `invalid JSON at line ${first.line}, column ${first.column}` };
  const file = root && jsonNodeToValue(root);
  if (!isObject(file) || file.format !== format || !Array.isArray(file.approvals)) {
    return { problem: "it is not an approvals file" };
  }
  if (file.version !== version) return { problem: "it was written by another version of Wirescope" };
  const approvals = file.approvals.map(readApproval);
  const broken = approvals.indexOf(undefined);
  if (broken !== -1) return { problem: `approval ${broken + 1} of ${approvals.length} is incomplete` };
  const known = approvals.filter((approval) => approval !== undefined);
  const keys = new Set(
    known.map(({ configuration, server, fingerprint }) => JSON.stringify([configuration, server, fingerprint.origin])),
  );
  return keys.size === known.length ? known : { problem: "it contains two approvals for one entry" };
}

/** Formats an approvals file. */
export function printApprovals(approvals: readonly Approval[]): string {
  return `${JSON.stringify({ format, version, approvals }, null, 2)}\n`;
}

function readApproval(value: unknown): Approval | undefined {
  if (!isObject(value)) return undefined;
  const { configuration, server, pluginRoot, approvedAt, entry } = value;
  const fingerprint = readFingerprint(value.fingerprint);
  const isWhole =
    isText(configuration) && isText(server) && isText(pluginRoot) && isText(approvedAt) && isObject(entry);
  if (!isWhole || fingerprint === undefined) return undefined;
  return { configuration, server, pluginRoot, approvedAt, fingerprint, entry };
}

function readFingerprint(value: unknown): EntryFingerprint | undefined {
  if (!isObject(value) || !Array.isArray(value.files)) return undefined;
  const { digest, entry, origin, isComplete } = value;
  if (origin !== undefined && !isText(origin)) return undefined;
  const files = value.files.map(readFile).filter((file) => file !== undefined);
  const isWhole =
    isText(digest) && isText(entry) && typeof isComplete === "boolean" && files.length === value.files.length;
  return isWhole ? { digest, entry, files, ...(origin === undefined ? {} : { origin }), isComplete } : undefined;
}

const states: readonly string[] = [
  "content",
  "missing",
  "directory",
  "special",
  "unreadable",
  "too-large",
  "too-many",
  "variable",
] satisfies FileFingerprint["state"][];

function readFile(value: unknown): FileFingerprint | undefined {
  if (!isObject(value)) return undefined;
  const { field, path, state, sha256 } = value;
  if (!isText(field) || !isText(path) || !isState(state)) return undefined;
  if (state !== "content") return sha256 === undefined ? { field, path, state } : undefined;
  return isText(sha256) ? { field, path, state, sha256 } : undefined;
}

function isState(value: unknown): value is FileFingerprint["state"] {
  return isText(value) && states.includes(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
