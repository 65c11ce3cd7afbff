import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolServerError } from "../errors.js";
import { writePrivateFile } from "../files/private-file.js";
import { systemReason } from "../files/system-reason.js";
import { isJsonObject } from "../json-object.js";
import type { Approval, ApprovalKey } from "./approval.js";
import { canonicalJson } from "./fingerprint-entry.js";
import type { ToolChange } from "./render-approval.js";

/** A tool in the list of a server. */
export type DefinedTool = Readonly<Record<string, unknown>>;

/**
 * The first definitions of the tools of approved entries. A server that changes what a tool says about itself after its approval can
 * mislead a model, so the change is shown. Each entry has its own file next to the approvals, because those are read before each start.
 */
export interface ToolDefinitions {
  /**
   * Compares tools with their first definitions, and stores those of tools that are new. Texts are redacted before they are compared.
   * Rejects with APPROVALS_UNREADABLE.
   */
  compare(
    approval: Approval,
    tools: readonly DefinedTool[],
    redact: (text: string) => string,
  ): Promise<readonly ToolChange[]>;
  /** The differences that the last comparison found. */
  changes(approval: Approval): Promise<readonly ToolChange[]>;
  /** Accepts these changes: tools are compared with them from now on. */
  accept(approval: Approval, changes: readonly ToolChange[]): Promise<void>;
  /** Forgets the tools of an entry. */
  remove(key: ApprovalKey): Promise<void>;
}

/** What a model or a person relies on. */
const fields = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;
type Definition = Readonly<Partial<Record<(typeof fields)[number], string>>>;

interface Stored {
  /** Of the approved entry and its files: a new version has new definitions. */
  readonly approved: string;
  readonly first: ReadonlyMap<string, Definition>;
  /** Tools whose definition differs from the first one. */
  readonly changed: ReadonlyMap<string, Definition>;
}

/** Bounds for a hostile server: tools beyond are not compared, and longer texts by their hash. */
const maxTools = 2000;
const maxText = 8192;

export function createToolDefinitions(folder: string): ToolDefinitions {
  const pathOf = ({ configuration, server }: ApprovalKey): string =>
    join(folder, `${sha256(JSON.stringify([configuration, server]))}.json`);
  const read = async (approval: Approval): Promise<Stored> => {
    const approved = digestOf(approval);
    const stored = await readStored(pathOf(approval));
    return stored?.approved === approved ? stored : { approved, first: new Map(), changed: new Map() };
  };
  const write = async (key: ApprovalKey, { approved, first, changed }: Stored): Promise<void> => {
    const path = pathOf(key);
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writePrivateFile(
        path,
        `${JSON.stringify({ format, version, approved, first: [...first], changed: [...changed] })}\n`,
      );
    } catch (error) {
      throw fail(path, "write", systemReason(error), "Check that its folder can be written.", error);
    }
  };
  return {
    async compare(approval, tools, redact) {
      const stored = await read(approval);
      const first = new Map(stored.first);
      const changed = new Map<string, Definition>();
      for (const tool of tools) {
        const name = String(tool.name);
        const now = definitionOf(tool, redact);
        const before = first.get(name);
        if (before === undefined && first.size < maxTools) first.set(name, now);
        if (before !== undefined && changesOf(name, before, now).length > 0) changed.set(name, now);
      }
      const isNew =
        first.size > stored.first.size || canonicalJson([...changed]) !== canonicalJson([...stored.changed]);
      if (isNew) await write(approval, { ...stored, first, changed });
      return allChanges({ first, changed });
    },
    changes: async (approval) => allChanges(await read(approval)),
    async accept(approval, changes) {
      const { approved, ...stored } = await read(approval);
      const first = new Map(stored.first);
      for (const { tool, field, after } of changes) {
        const before = first.get(tool);
        // A new version of the entry has no first definitions yet, and one field is not all of them.
        if (before !== undefined) first.set(tool, { ...before, [field]: after });
      }
      const changed = [...stored.changed].filter(([tool, now]) => changesOf(tool, first.get(tool), now).length > 0);
      await write(approval, { approved, first, changed: new Map(changed) });
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}

function allChanges({ first, changed }: Pick<Stored, "first" | "changed">): ToolChange[] {
  return [...changed].flatMap(([tool, now]) => changesOf(tool, first.get(tool), now));
}

function changesOf(tool: string, first: Definition = {}, now: Definition): ToolChange[] {
  return fields
    .filter((field) => first[field] !== now[field])
    .map((field) => ({ kind: "tool", tool, field, before: first[field], after: now[field] }));
}

function definitionOf(tool: DefinedTool, redact: (text: string) => string): Definition {
  const texts = fields.flatMap((field) => {
    const value = tool[field];
    if (value === undefined) return [];
    const text = redact(typeof value === "string" ? value : canonicalJson(value));
    return [[field, text.length <= maxText ? text : `${text.slice(0, maxText)}… (sha256 ${sha256(text)})`] as const];
  });
  return Object.fromEntries(texts);
}

function digestOf({ fingerprint: { entry, files } }: Approval): string {
  return sha256(JSON.stringify([entry, files]));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const format = "wirescope-tool-definitions";
const version = 1;

async function readStored(path: string): Promise<Stored | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw fail(path, "read", systemReason(error), "Check who may read it.", error);
  }
  const stored = parseStored(text);
  if (stored !== undefined) return stored;
  throw fail(
    path,
    "read",
    "it is damaged, or was written by another version of Wirescope",
    "Delete it to begin with the current definitions.",
  );
}

function parseStored(text: string): Stored | undefined {
  try {
    const file: unknown = JSON.parse(text);
    if (!isJsonObject(file) || file.format !== format || file.version !== version) return undefined;
    const { approved, first, changed } = file;
    return typeof approved === "string"
      ? { approved, first: parseTools(first), changed: parseTools(changed) }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Throws if it is something else. */
function parseTools(value: unknown): ReadonlyMap<string, Definition> {
  return new Map((value as readonly [string, Definition][]).map(([name, definition]) => [name, { ...definition }]));
}

function fail(
  path: string,
  action: "read" | "write",
  reason: string,
  advice: string,
  cause?: unknown,
): ToolServerError {
  const problem = `Cannot ${action} the tool definitions in ${path}: ${reason}.`;
  return new ToolServerError("APPROVALS_UNREADABLE", { problem, advice }, { cause });
}
