import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { Entry } from "../config/entry.js";
import { parseConfiguration } from "../config/parse-configuration.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import { fingerprintEntry } from "./fingerprint-entry.js";

/** Parses a value as an entry. */
export function entryOf(value: unknown, name = "s"): Entry {
  return entryOfText(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`);
}

/** Parses a configuration and returns its first entry, even if it has errors. */
export function entryOfText(text: string): Entry {
  const [entry] = parseConfiguration(text).entries;
  if (entry === undefined) throw new Error(`No entry in ${text}`);
  return entry;
}

/** A folder that is removed after the test. */
export interface TestFolder {
  readonly path: string;
  /** Writes a file and its folders, and returns its path. */
  write(name: string, text: string, mode?: number): Promise<string>;
}

export async function createFolder(): Promise<TestFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "wirescope-trust-")));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return {
    path,
    async write(name, text, mode = 0o644) {
      const file = join(path, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { mode });
      // The umask of the process may have removed bits from the mode.
      await chmod(file, mode);
      return file;
    },
  };
}

/** What an approval of an entry covers, in a folder with a `.mcp.json`. */
export async function subjectOf(entry: Entry, root: string): Promise<ApprovalSubject> {
  return approvalSubject(entry, await fingerprintEntry(entry, { pluginRoot: root }), join(root, ".mcp.json"), root);
}
