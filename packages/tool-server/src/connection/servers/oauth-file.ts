import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { SecretCommand } from "../../config/entry.js";
import { collectFindings } from "../../config/finding.js";
import { type JsonNode, parseJsonWithPositions } from "../../config/json-with-positions.js";
import type { OAuthSettingsOf, OAuthText } from "../../config/oauth-settings.js";
import { parseOAuthSettings } from "../../config/parse-oauth-settings.js";
import { splitClientSecret } from "../../config/parse-secret-command.js";
import type { Variables } from "../../config/substitute-entry.js";
import { literalOf } from "../../config/template.js";
import { ToolServerError } from "../../errors.js";
import { systemReason } from "../../files/system-reason.js";
import type { Environment } from "../../process/child-environment.js";
import { checkOwnership, currentUser } from "../../trust/file-ownership.js";
import { parseUrl } from "../../url.js";
import type { OAuthOverrides } from "./entry-oauth.js";
import { oauthFileText, overridesOfFile } from "./oauth-file-settings.js";

/** The user's OAuth settings: the file of WIRESCOPE_OAUTH_FILE, or `wirescope/oauth.json` in the configuration folder. */
export function oauthFilePath(environment: Environment): string {
  const { WIRESCOPE_OAUTH_FILE: named, XDG_CONFIG_HOME: configured = "", HOME: home } = environment;
  if (named) return named;
  const base = isAbsolute(configured) ? configured : join(home || homedir(), ".config");
  return join(base, "wirescope", "oauth.json");
}

export interface OAuthFileOptions {
  /** The variables that replace `${NAME}`. Default: the environment. */
  readonly variables?: Variables | undefined;
  /** Called once for each server whose settings are for another url, and so are not used. Default: nothing. */
  readonly onNote?: ((note: string) => void) | undefined;
}

/**
 * Reads the user's OAuth settings. The result returns those of a server by its name and url; they are empty if the file does not
 * exist. Both throw CONFIGURATION_UNREADABLE if settings cannot be used.
 */
export function readOAuthFile(
  environment: Environment,
  { variables = environment, onNote = () => {} }: OAuthFileOptions = {},
): (server: string, url: string) => OAuthOverrides {
  const path = oauthFilePath(environment);
  const text = readFile(path, Boolean(environment.WIRESCOPE_OAUTH_FILE));
  if (text === undefined) return () => ({});
  const servers = parseServers(text, path);
  assertPrivate(path, [...servers.values()]);
  const reported = new Set<string>();
  return (server, url) => {
    const parsed = servers.get(server);
    if (parsed === undefined) return {};
    const { settings, command } = parsed;
    const context = { path, folder: dirname(path), server, variables };
    const configuredUrl = settings.url === undefined ? undefined : oauthFileText(context, settings.url);
    if (configuredUrl === undefined || isSameUrl(configuredUrl, url))
      return overridesOfFile(context, settings, command);
    // Any project can give its server that name.
    if (!reported.has(server))
      onNote(`${path} has an entry for ${server} with a different url, so it is not used here.`);
    reported.add(server);
    return {};
  };
}

/** The settings of a server, and the command of its client secret. */
interface ServerSettings {
  readonly settings: OAuthSettingsOf<OAuthText>;
  readonly command: SecretCommand | undefined;
}

function readFile(path: string, isNamed: boolean): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Some users have a home that is not a folder.
    if ((code === "ENOENT" || code === "ENOTDIR") && !isNamed) return undefined;
    const problem = `${path} cannot be read: ${systemReason(error)}.`;
    throw unreadable(problem, "Correct WIRESCOPE_OAUTH_FILE, or its permissions.");
  }
}

function parseServers(text: string, path: string): ReadonlyMap<string, ServerSettings> {
  const { root, problems } = parseJsonWithPositions(text, { allowComments: true });
  const { findings, report } = collectFindings();
  for (const problem of problems) {
    report("json-syntax", "error", { ...problem, path: [] }, problem.message, problem.fix);
  }
  const servers = new Map<string, ServerSettings>();
  for (const { key, keyAt, value } of root === undefined ? [] : membersOf(root, path)) {
    const position = { ...keyAt, path: [key], server: key };
    const { settings, commands } = splitClientSecret({ syntax: {}, report }, value, position, "");
    servers.set(key, { settings: parseOAuthSettings(settings, position, "own", report), command: commands[0] });
  }
  const error = findings.find(({ severity }) => severity !== "note");
  if (error === undefined) return servers;
  const { line, column, message, fix } = error;
  throw unreadable(`${path}:${line}:${column}: ${message}`, fix);
}

function membersOf(root: JsonNode, path: string): Extract<JsonNode, { readonly kind: "object" }>["members"] {
  if (root.kind === "object") return root.members;
  throw unreadable(`${path} must contain an object with one entry per server.`, 'Write {"server": {"clientId": "…"}}.');
}

/** A file that contains a secret must be readable by its owner only; one with a command, writable by its owner only. */
function assertPrivate(path: string, servers: readonly ServerSettings[]): void {
  if (servers.some(({ command }) => command !== undefined)) {
    const exposure = checkOwnership(statSync(path), currentUser());
    const problem = `${path} contains a command, but ${exposure?.reason}, so the command is not run.`;
    if (exposure !== undefined) throw unreadable(problem, exposure.advice);
  }
  const holdsSecret = servers.some(
    ({ settings: { clientSecret } }) => clientSecret !== undefined && literalOf(clientSecret.template) !== "",
  );
  if (!holdsSecret || process.platform === "win32" || (statSync(path).mode & 0o077) === 0) return;
  const advice = `Run chmod 600 ${path}, or write \${NAME}.`;
  throw unreadable(`${path} contains a secret, but other users can read it.`, advice);
}

function isSameUrl(configuredUrl: string, url: string): boolean {
  const href = parseUrl(configuredUrl)?.href;
  return href !== undefined && href === parseUrl(url)?.href;
}

function unreadable(problem: string, advice: string): ToolServerError {
  return new ToolServerError("CONFIGURATION_UNREADABLE", { problem, advice });
}
