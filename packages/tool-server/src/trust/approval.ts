import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Entry } from "../config/entry.js";
import { ToolServerError } from "../errors.js";
import { entryForm } from "./entry-form.js";
import type { EntryFingerprint } from "./fingerprint-entry.js";
import { quoteUnlessPlain } from "./quoted-text.js";

/** Which entry an approval is of: one file, one name. */
export interface ApprovalKey {
  /** The absolute path of the configuration, without symbolic links. */
  readonly configuration: string;
  readonly server: string;
}

/** All that an approval is of. It holds no value of a variable but the origin that the url leads to. */
export interface ApprovalSubject extends ApprovalKey {
  /** The plugin's root, without symbolic links: what HOST_PLUGIN_ROOT stood for. */
  readonly pluginRoot: string;
  readonly fingerprint: EntryFingerprint;
  /** The entry as it is written, to show what changed. */
  readonly entry: unknown;
}

/** An approval as it is kept. */
export interface Approval extends ApprovalSubject {
  /** When it was given, in ISO 8601. */
  readonly approvedAt: string;
}

/** The key of an entry. Throws CONFIGURATION_UNREADABLE where there is no such file. */
export async function approvalKey(configurationPath: string, server: string): Promise<ApprovalKey> {
  return { configuration: await realConfiguration(configurationPath), server };
}

/** What an approval of this entry would be of. Give the fingerprint that the person was shown, not a later one. */
export async function approvalSubject(
  entry: Entry,
  fingerprint: EntryFingerprint,
  configurationPath: string,
  pluginRoot: string,
): Promise<ApprovalSubject> {
  const root = resolve(pluginRoot);
  return {
    ...(await approvalKey(configurationPath, entry.name)),
    pluginRoot: await realpath(root).catch(() => root),
    fingerprint,
    entry: entryForm(entry),
  };
}

async function realConfiguration(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    const problem = `The configuration ${quoteUnlessPlain(path)} does not exist any more, so it cannot be judged.`;
    throw new ToolServerError("CONFIGURATION_UNREADABLE", { problem, advice: "Check its path." }, { cause });
  }
}
