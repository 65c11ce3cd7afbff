import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type MachineGrant, type OAuthOverrides, parseTemplate } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";

/** What the user's file may say of a server. Values may hold `${NAME}`; `…File` names a file that holds the value. */
interface OAuthEntry {
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly privateKeyFile?: string;
  readonly clientMetadataUrl?: string;
  readonly scopes?: readonly string[];
  readonly redirectHost?: string;
  readonly redirectPort?: number;
  readonly grant?: string;
  readonly assertionFile?: string;
  readonly identityTokenFile?: string;
  readonly identityTokenEndpoint?: string;
  readonly identityClientId?: string;
  readonly bindsTokens?: boolean;
}

const fields: Readonly<Record<keyof OAuthEntry, "string" | "number" | "boolean" | "list">> = {
  issuer: "string",
  clientId: "string",
  clientSecret: "string",
  privateKeyFile: "string",
  clientMetadataUrl: "string",
  scopes: "list",
  redirectHost: "string",
  redirectPort: "number",
  grant: "string",
  assertionFile: "string",
  identityTokenFile: "string",
  identityTokenEndpoint: "string",
  identityClientId: "string",
  bindsTokens: "boolean",
};

/** Where the user says what an entry has no fields for: `wirescope/oauth.json` of the configuration folder. */
export function oauthFilePath({ env }: Io): string {
  if (env.WIRESCOPE_OAUTH_FILE) return env.WIRESCOPE_OAUTH_FILE;
  const configured = env.XDG_CONFIG_HOME ?? "";
  const base = isAbsolute(configured) ? configured : join(env.HOME || homedir(), ".config");
  return join(base, "wirescope", "oauth.json");
}

/** What the user's file says of each server, by name. Throws a UsageError where it cannot be used. */
export function readOAuthFile(io: Io): (server: string) => OAuthOverrides {
  const path = oauthFilePath(io);
  if (!existsSync(path)) return () => ({});
  let all: unknown;
  try {
    all = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${path} cannot be used: ${error instanceof Error ? error.message : String(error)}.`);
  }
  if (typeof all !== "object" || all === null || Array.isArray(all)) {
    throw new UsageError(`${path} holds no object of servers by name.`);
  }
  const entries = new Map(Object.entries(all).map(([server, entry]) => [server, check(entry, server, path)]));
  return (server) => {
    const entry = entries.get(server);
    return entry === undefined ? {} : overridesOf(entry, io, `${path}, ${server}`);
  };
}

function check(entry: unknown, server: string, path: string): OAuthEntry {
  if (typeof entry !== "object" || entry === null) throw new UsageError(`${path}: ${server} is no object.`);
  for (const [name, value] of Object.entries(entry)) {
    const kind = Object.hasOwn(fields, name) ? fields[name as keyof OAuthEntry] : undefined;
    if (kind === undefined) {
      throw new UsageError(`${path}: ${server} has no field ${name}. Fields: ${Object.keys(fields).join(", ")}.`);
    }
    const fits =
      kind === "list" ? Array.isArray(value) && value.every((each) => typeof each === "string") : typeof value === kind;
    if (!fits)
      throw new UsageError(`${path}: ${name} of ${server} is no ${kind === "list" ? "list of strings" : kind}.`);
  }
  return entry;
}

function overridesOf(entry: OAuthEntry, io: Io, where: string): OAuthOverrides {
  const text = (value: string | undefined): string | undefined => value && expand(value, io, where);
  const { scopes, bindsTokens, redirectHost, redirectPort } = entry;
  if (redirectHost !== undefined && redirectHost !== "127.0.0.1" && redirectHost !== "localhost") {
    throw new UsageError(`${where}: redirectHost is 127.0.0.1 or localhost.`);
  }
  const clientId = text(entry.clientId);
  const privateKeyFile = text(entry.privateKeyFile);
  const client =
    clientId === undefined
      ? undefined
      : {
          clientId,
          clientSecret: text(entry.clientSecret),
          privateKey: privateKeyFile && readText(privateKeyFile, where),
        };
  return {
    issuer: text(entry.issuer),
    client,
    clientMetadataUrl: text(entry.clientMetadataUrl),
    scopes,
    bindsTokens,
    redirect: { host: redirectHost, port: redirectPort },
    grant: grantOf(entry, text, where),
  };
}

function grantOf(
  entry: OAuthEntry,
  text: (value: string | undefined) => string | undefined,
  where: string,
): MachineGrant | undefined {
  const file = (path: string | undefined): (() => Promise<string>) => {
    const found = text(path);
    if (found === undefined) throw new UsageError(`${where}: the grant ${entry.grant} needs a file.`);
    // Read each time: platforms renew such tokens in place.
    return async () => readText(found, where).trim();
  };
  switch (entry.grant) {
    case undefined:
      return undefined;
    case "client-credentials":
      return { kind: "client-credentials" };
    case "workload":
      return { kind: "workload", assertion: file(entry.assertionFile) };
    case "enterprise": {
      const tokenEndpoint = text(entry.identityTokenEndpoint);
      const clientId = text(entry.identityClientId);
      if (tokenEndpoint === undefined || clientId === undefined) {
        throw new UsageError(`${where}: the grant enterprise needs identityTokenEndpoint and identityClientId.`);
      }
      return {
        kind: "enterprise",
        provider: { tokenEndpoint, client: { clientId } },
        idToken: file(entry.identityTokenFile),
      };
    }
    default:
      throw new UsageError(`${where}: grant is client-credentials, workload or enterprise.`);
  }
}

function expand(value: string, { env }: Io, where: string): string {
  return parseTemplate(value)
    .parts.map((part) => {
      if (part.kind === "text") return part.text;
      const found = env[part.name] || part.fallback;
      if (!found) throw new UsageError(`${where}: ${part.name} is not set.`);
      return found;
    })
    .join("");
}

function readText(path: string, where: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new UsageError(`${where}: the file ${path} cannot be read${why}.`);
  }
}
