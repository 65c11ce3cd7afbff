import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { Entry } from "../config/entry.js";
import { parseConfiguration } from "../config/parse-configuration.js";
import { type ApprovalSubject, approvalSubject } from "./approval.js";
import { fingerprintEntry } from "./fingerprint-entry.js";

/** The entry that a value of JSON is, by the reader of configurations. */
export function entryOf(value: unknown, name = "s"): Entry {
  return entryOfText(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`);
}

/** The first entry of a text, also where something is wrong with it. */
export function entryOfText(text: string): Entry {
  const [entry] = parseConfiguration(text, { allowInsecureLoopback: true }).entries;
  if (entry === undefined) throw new Error(`There is no entry in ${text}`);
  return entry;
}

/** A folder for one test, gone when the test is. */
export interface TestFolder {
  readonly path: string;
  /** Writes a file, with its folders, and tells where it is. */
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
      // The mask of the process takes bits from the mode above.
      await chmod(file, mode);
      return file;
    },
  };
}

/** What an approval of an entry would be of, in a plugin whose configuration is `.mcp.json`. */
export async function subjectOf(entry: Entry, root: string): Promise<ApprovalSubject> {
  return approvalSubject(entry, await fingerprintEntry(entry, { pluginRoot: root }), join(root, ".mcp.json"), root);
}
