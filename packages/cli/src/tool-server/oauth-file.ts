import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { parseUrl, printableText } from "@wirescope/channelz/internal";
import type { OAuthOverrides } from "@wirescope/tool-server";
import type { Variables } from "@wirescope/tool-server/config";
import { jsonNodeToValue } from "@wirescope/tool-server/internal/json";
import type { Io } from "../io.js";
import { JsoncError, parseJsonc } from "../jsonc/parse-jsonc.js";
import { UsageError } from "../usage-error.js";
import { type OAuthEntry, oauthFields } from "./oauth-entry.js";
import { createEntryReader } from "./oauth-overrides.js";

/** Where the user says what an entry has no fields for: `wirescope/oauth.json` of the configuration folder. */
export function oauthFilePath({ env }: Pick<Io, "env">): string {
  if (env.WIRESCOPE_OAUTH_FILE) return env.WIRESCOPE_OAUTH_FILE;
  const configured = env.XDG_CONFIG_HOME ?? "";
  const base = isAbsolute(configured) ? configured : join(env.HOME || homedir(), ".config");
  return join(base, "wirescope", "oauth.json");
}

/**
 * The settings of each server in the user's OAuth file, by its name and url; nothing if there is no file. `variables` replace `${NAME}`;
 * default those of the environment. Throws a UsageError if the file cannot be used, and so does what it returns.
 */
export function readOAuthFile(io: Io, variables: Variables = io.env): (server: string, url: string) => OAuthOverrides {
  const path = oauthFilePath(io);
  const text = readFile(path, io.env.WIRESCOPE_OAUTH_FILE !== undefined);
  if (text === undefined) return () => ({});
  const entries = parseEntries(text, path);
  assertPrivate(path, entries);
  const reported = new Set<string>();
  return (server, url) => {
    const entry = entries.get(server);
    if (entry === undefined) return {};
    const reader = createEntryReader({ variables, folder: dirname(path), where: `${path}, ${server}` });
    const meant = reader.text(entry.url);
    if (meant === undefined || isSameUrl(meant, url)) return reader.overridesOf(entry);
    // Any project can give its server that name.
    const note = `${path} has an entry for ${server} with a different url, so it is not used here.`;
    if (!reported.has(note)) io.stderr.write(`wirescope: ${printableText(note)}\n`);
    reported.add(note);
    return {};
  };
}

function readFile(path: string, isNamed: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    // Some users have a home that is no folder.
    if ((code === "ENOENT" || code === "ENOTDIR") && !isNamed) return undefined;
    throw new UsageError(`${path} cannot be read (${code}).`);
  }
}

function parseEntries(text: string, path: string): ReadonlyMap<string, OAuthEntry> {
  const all = parseText(text, path);
  if (!isObject(all)) throw new UsageError(`${path} must contain an object with one entry per server.`);
  return new Map(Object.entries(all).map(([server, entry]) => [server, checkEntry(entry, server, path)]));
}

/** Not by JSON.parse, whose error quotes the text, and so maybe a secret. */
function parseText(text: string, path: string): unknown {
  try {
    return jsonNodeToValue(parseJsonc(text).root);
  } catch (error) {
    if (error instanceof JsoncError) throw new UsageError(`${path}:${error.message}`);
    throw error;
  }
}

function checkEntry(entry: unknown, server: string, path: string): OAuthEntry {
  if (!isObject(entry)) throw new UsageError(`${path}: ${server} must be an object.`);
  for (const [name, value] of Object.entries(entry)) {
    const kind = Object.hasOwn(oauthFields, name) ? oauthFields[name as keyof OAuthEntry].kind : undefined;
    if (kind === undefined) {
      throw new UsageError(
        `${path}: ${server} has the unknown field ${name}. Known fields: ${Object.keys(oauthFields).join(", ")}.`,
      );
    }
    const fits =
      kind === "list" ? Array.isArray(value) && value.every((each) => typeof each === "string") : typeof value === kind;
    if (!fits) {
      throw new UsageError(`${path}: ${name} of ${server} must be a ${kind === "list" ? "list of strings" : kind}.`);
    }
  }
  return entry;
}

/** A file that contains a secret must be readable for its owner only. */
function assertPrivate(path: string, entries: ReadonlyMap<string, OAuthEntry>): void {
  const holdsSecret = [...entries.values()].some(({ clientSecret }) => clientSecret && !clientSecret.includes("${"));
  if (!holdsSecret || process.platform === "win32" || (statSync(path).mode & 0o077) === 0) return;
  throw new UsageError(
    `${path} contains a secret, but other users can read it. Run chmod 600 ${path}, or write \${NAME}.`,
  );
}

function isSameUrl(meant: string, url: string): boolean {
  const href = parseUrl(meant)?.href;
  return href !== undefined && href === parseUrl(url)?.href;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
